"""The pages, one file each, run by `dashboard/app.py`.

The folder is not called ``pages``: Streamlit would then run a page without ``app.py`` when a deep link is the first
thing opened (its older multipage convention, still active until the first `st.navigation`).
"""
