"""A build front end that stands for ``build``: it does what the ``behaviour.py`` of a tree says, and tells what it was given."""

from __future__ import annotations

__all__ = ["FRONT_END", "NOTHING_NEEDED", "ONE_WHEEL", "PROJECT_BUILDER"]

FRONT_END = """
# Stands for the build front end: does what the tree's behaviour.py says.
import base64, hashlib, json, os, sys, zipfile
from pathlib import Path


def wheel(name, version=None, **members):
    # Into the folder that is asked for; its metadata have the version of its name, or another.
    project, own = name.split("-")[:2]
    info = f"{project}-{own}.dist-info"
    tag = "-".join(name.removesuffix(".whl").split("-")[2:])
    files = {key.replace("__", "/") + ".py": text for key, text in members.items()}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\\nName: {project}\\nVersion: {version or own}\\n"
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: false\\nTag: {tag}\\n"
    rows = []
    for key, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{key},sha256={digest},{len(text)}\\n")
    files[f"{info}/RECORD"] = "".join(rows) + f"{info}/RECORD,,\\n"
    with zipfile.ZipFile(out / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, text in files.items():
            archive.writestr(key, text)


tree = Path(sys.argv[-1])
out = Path(sys.argv[sys.argv.index("--outdir") + 1])
told = {"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "files": sorted(os.listdir(tree)), "path": sys.path}
told["in cwd"] = os.listdir()
Path(os.environ["TOLD"]).write_text(json.dumps(told))
exec((tree / "behaviour.py").read_text())
"""
PROJECT_BUILDER = """
import json, os
from pathlib import Path


class ProjectBuilder:
    def __init__(self, tree):
        self.tree = Path(tree)

    def get_requires_for_build(self, kind, settings):
        print("a back end may talk")
        asked = self.tree / "asked.json"
        return set(json.loads(asked.read_text())) if asked.exists() else set()
"""
ONE_WHEEL = "wheel('toy-1.2.0+rocm7.10.0-cp312-cp312-linux_x86_64.whl')"
NOTHING_NEEDED = "[build-system]\nrequires = []\n"
