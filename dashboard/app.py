"""The dashboard: ``streamlit run dashboard/app.py -- --store-url http://HOST:PORT``.

The token, if the store wants one, comes from the environment variable WEIGHMASTER_TOKEN.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

from dashboard.screen import path_of, screens
from dashboard.session import Settings, remember


def settings(arguments: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """Read where the store is from the arguments after ``--``, else from the environment."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--store-url", default=environment.get("WEIGHMASTER_STORE_URL"))
    # Unknown arguments are left alone: an exception here would be a blank page in the browser.
    known, _ = parser.parse_known_args(arguments)
    return Settings(store_url=known.store_url, token=environment.get("WEIGHMASTER_TOKEN"))


def main() -> None:
    """Run the page that the address names."""
    st.set_page_config(page_title="Weighmaster", layout="wide")
    # The one place of this package that looks at its process: Streamlit runs this file anew for every page view and
    # passes nothing in. The token is in the environment, since arguments can be read by every user of the machine.
    remember(settings(sys.argv[1:], os.environ))
    st.html(Path(__file__).with_name("style.css"))
    # No page icons: Streamlit makes them favicons, which browsers then fetch from fonts.gstatic.com.
    pages = [
        st.Page(path_of(name), title=screen.title, url_path=name, default=place == 0, help=screen.question)
        for place, (name, screen) in enumerate(screens())
    ]
    st.navigation(pages, position="top").run()


if __name__ == "__main__":
    main()
