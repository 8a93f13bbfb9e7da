"""Container images: what is in them, what they are called, what makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools.options.declare import declare

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ImageOptions"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class ImageOptions:
    """Container images: what is in them, what they are called, what makes them."""

    image: str = declare(
        "pytorch-therock-rocm-ci",
        "text",
        "image",
        "Name of the image, with the registry before it where it has one.",
        metavar="NAME",
    )
    image_tag: tuple[str, ...] = declare(
        (), "names", "image", "Tags of the image; nightly-YYYYMMDD and latest when not given.", metavar="T1,T2"
    )
    image_file: Path | None = declare(
        None, "path", "image", "File that the image is saved to, or that one is loaded from.", metavar="FILE"
    )
    push: bool = declare(False, "flag", "image", "Push the image to its registry.")
    reuse: bool = declare(
        False,
        "flag",
        "image",
        "Take the image from its registry where one of the same recipe, arguments and day is there, instead of building it.",
    )
    engine: str | None = declare(
        None,
        "choice",
        "image",
        "What makes and runs containers; the first of these that works when not given.",
        choices=("docker", "podman", "buildah"),
        metavar="NAME",
    )
    base_image: str | None = declare(
        None, "text", "image", "Image to begin with, instead of Ubuntu's; a release names one by digest.", metavar="NAME@sha256:…"
    )
    ubuntu_version: str | None = declare(
        None, "text", "image", "Ubuntu's release in the image.", metavar="22.04", other_environment=("UBUNTU_VERSION",)
    )
    rocm_release: str | None = declare(
        None,
        "text",
        "image",
        "ROCm's release in AMD's apt repository, for an image without Python packages of it.",
        metavar="6.4",
        other_environment=("ROCM_VERSION",),
    )
    therock_nightly: bool = declare(
        False,
        "flag",
        "image",
        "Put ROCm's Python packages into the image, from --rocm-index-url, instead of AMD's apt packages.",
        other_environment=("USE_THEROCK_NIGHTLY",),
    )
