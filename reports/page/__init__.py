"""What people read: one self-contained HTML file, and Markdown for a pull request."""

from fireassay.reports.page.markdown import markdown
from fireassay.reports.page.render import html

__all__ = ["html", "markdown"]
