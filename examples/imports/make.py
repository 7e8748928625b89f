"""Structures of known architectures, as files in this folder: their nodes, edges, shapes and multiply-accumulates.

    python examples/imports/make.py [NAME ...]

Needs PyTorch, and torchvision for all but the U-Net, without weights: `pip install torchvision --no-deps`. Where its
compiled operators do not load beside another build of PyTorch, empty ones take their place: no architecture calls them.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

import neuromap as nm

FOLDER = Path(__file__).parent


class UNet(nn.Module):
    """U-Net (Ronneberger, Fischer, Brox 2015), with padding, so that both sides of a level have one size."""

    def __init__(self, depth: int = 4, width: int = 64):
        super().__init__()
        widths = [width * 2**k for k in range(depth + 1)]
        self.down = nn.ModuleList(self.two(a, b) for a, b in zip([1, *widths[:-1]], widths, strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in pairwise(widths))
        self.join = nn.ModuleList(self.two(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(width, 2, 1)

    @staticmethod
    def two(source: int, target: int) -> nn.Sequential:
        """Make the two convolutions of a level."""
        first, second = nn.Conv2d(source, target, 3, padding=1), nn.Conv2d(target, target, 3, padding=1)
        return nn.Sequential(first, nn.ReLU(), second, nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Segment an image."""
        levels = [self.down[0](x)]
        for stage in self.down[1:]:
            levels.append(stage(functional.max_pool2d(levels[-1], 2)))
        found = levels.pop()
        for up, join in zip(reversed(self.up), reversed(self.join), strict=True):
            found = join(torch.cat([levels.pop(), up(found)], 1))
        return self.head(found)


def torchvision_models():
    """Import torchvision; what it registers functions for is declared first where its library does not load."""
    where = importlib.util.find_spec("torchvision")
    if where is None:
        sys.exit("needs torchvision: pip install torchvision --no-deps")
    try:
        import torchvision
    except RuntimeError:
        text = (Path(where.origin).parent / "_meta_registrations.py").read_text(encoding="utf-8")
        names = set(re.findall(r'torchvision::(\w+)|@register_meta\("(\w+)"', text))
        library = torch.library.Library("torchvision", "DEF")
        for name in sorted({a or b for a, b in names}):
            library.define(f"{name}(Tensor a) -> Tensor")
        for part in [part for part in sys.modules if part.startswith("torchvision")]:
            del sys.modules[part]
        import torchvision

        torchvision.neuromap_library = library  # which it needs as long as it lives
    return torchvision.models


def module_and_input(name: str):
    """Make an architecture, and an image of its size."""
    if name == "unet":
        return UNet(), torch.zeros(1, 1, 256, 256)
    return getattr(torchvision_models(), name)(weights=None), torch.zeros(1, 3, 224, 224)


def main(names: list[str]) -> None:
    """Write the files."""
    for name in names:
        start = time.perf_counter()
        module, image = module_and_input(name)
        imported = nm.from_torch(module, image)
        network = replace(imported.network, name=name)
        path = FOLDER / f"{name}.toml"
        network.save(path)
        print(
            f"{name}: {len(network.nodes)} nodes, {len(network.edges)} edges, {sum(imported.work.values()):,} "
            f"multiply-accumulates per frame, {path.stat().st_size // 1000} kB, {time.perf_counter() - start:.0f} s"
        )


if __name__ == "__main__":
    main(sys.argv[1:] or ["resnet50", "densenet121", "mobilenet_v3_large", "unet", "vit_b_16"])
