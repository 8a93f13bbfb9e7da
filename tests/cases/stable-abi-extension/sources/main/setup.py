"""Build the extension against the torch that is installed, and require that very one."""

from pathlib import Path

import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="stable-abi-extension",
    version=Path("version.txt").read_text(encoding="utf-8").strip(),
    description="A one-file extension against torch's stable ABI",
    python_requires=">=3.10",
    install_requires=[f"torch=={torch.__version__}"],
    packages=["stable_abi_extension"],
    ext_modules=[
        CppExtension(
            "stable_abi_extension._C",
            ["csrc/leaky.cpp"],
            # No debug information: it would hold the folder that the build ran in.
            extra_compile_args=["-O1", "-g0"],
            py_limited_api=True,
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)},
)
