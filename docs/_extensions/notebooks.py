"""Notebooks as pages: code, what it printed and what it drew; nothing is run when the site is built."""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every notebook; the notebook itself stays, to be downloaded."""
    for file in [each for each in files if each.src_uri.endswith(".ipynb")]:
        notebook = json.loads(Path(str(file.abs_src_path)).read_text(encoding="utf-8"))
        name = file.src_uri.removesuffix(".ipynb")
        files.append(File.generated(config, f"{name}.md", content=page(notebook, Path(file.src_uri).name)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to notebooks lead to their pages."""
    return re.sub(r"\]\(((?:\.\./)*(?:tutorials/)?[\w-]+)\.ipynb\)", r"](\1.md)", markdown)


def page(notebook: dict[str, Any], name: str) -> str:
    """The Markdown of a notebook, with a link to the file after its title."""
    parts: list[str] = []
    for place, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts += [f"```python\n{source}\n```", *map(_output, cell["outputs"])]
        if place == 0:
            parts.append(f'<p><a href="{name}" download>Download this notebook</a></p>')
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    if "image/png" in data:
        return f'<img alt="Figure drawn by the code above" src="data:image/png;base64,{data["image/png"].strip()}">'
    if "text/html" in data:
        return f'<div class="output">{"".join(data["text/html"])}</div>'
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"
