"""What Streamlit serves: the pages of ``app.py``, and ``/healthz`` beside them.

Streamlit's own ``/_stcore/health`` says the same in its own words; monitors ask every process of ours at one path.
"""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from streamlit.starlette import App


async def healthz(_request: Request) -> JSONResponse:
    """200: the pages are served. Whether the store answers is the store's to say."""
    return JSONResponse({"status": "ok", "process": "dashboard"}, headers={"cache-control": "no-store"})


app = App(Path(__file__).with_name("app.py"), routes=[Route("/healthz", healthz, methods=["GET"])])
