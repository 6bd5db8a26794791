"""The page for addresses without a page: one file that loads nothing, wherever the site is served."""

from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.nav import Navigation

PAGE = r"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Page not found - NAME</title>
<style>
:root { color-scheme: light dark; }
body { max-width: 36rem; margin: 20vh auto 0; padding: 0 1.2rem; font: 1rem/1.6 system-ui, sans-serif; }
h1 { font-weight: 300; font-size: 2rem; }
</style>
</head>
<body>
<h1>Page not found</h1>
<p>The NAME documentation has no page at this address. Start from its <a id="home" href="index.html">home page</a>.</p>
<script>
// The site may be in a folder of its server: its root is what precedes a folder of the site, or the file.
document.getElementById("home").href = location.pathname.replace(/(FOLDERS)\/.*|[^/]*$/, "") + "index.html";
</script>
</body>
</html>
"""

_folders: set[str] = set()


def on_nav(nav: Navigation, **_: Any) -> None:
    """Remember the folders of the site."""
    _folders.update(page.url.split("/")[0] for page in nav.pages if "/" in page.url)


def on_post_template(output_content: str, *, template_name: str, config: MkDocsConfig) -> str:
    """Replace the theme's page, whose styles load from the root of the server only."""
    if template_name != "404.html":
        return output_content
    return PAGE.replace("NAME", config.site_name).replace("FOLDERS", "|".join(sorted(_folders)))
