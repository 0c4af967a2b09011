"""Networks that people have, in torch alone: a residual network, a vision transformer, a Llama block, LSTM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


class RootMeanSquare(nn.Module):
    """RMSNorm, written out as most sources of Llama do."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))

    def forward(self, x: Any) -> Any:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def _rotated(x: Any) -> Any:
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


class LlamaBlock(nn.Module):
    """Embedding, RMSNorm, rotary grouped attention with a causal mask, SwiGLU."""

    def __init__(self, width: int = 32, heads: int = 4, groups: int = 2, hidden: int = 64, words: int = 50) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.embedding = nn.Embedding(words, width)
        self.query, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.key, self.value = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        self.first, self.second = RootMeanSquare(width), RootMeanSquare(width)
        self.register_buffer("speeds", 1 / 10000 ** (torch.arange(0, self.size, 2) / self.size))

    def attention(self, x: Any) -> Any:
        samples, positions, width = x.shape
        angles = torch.outer(torch.arange(positions).float(), self.speeds)
        angles = torch.cat((angles, angles), -1)

        def heads(y: Any, count: int) -> Any:
            return y.view(samples, positions, count, self.size).transpose(1, 2)

        query, key = heads(self.query(x), self.heads), heads(self.key(x), self.groups)
        value = heads(self.value(x), self.groups).repeat_interleave(self.heads // self.groups, 1)
        query = query * angles.cos() + _rotated(query) * angles.sin()
        key = (key * angles.cos() + _rotated(key) * angles.sin()).repeat_interleave(self.heads // self.groups, 1)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(samples, positions, width))

    def forward(self, ids: Any) -> Any:
        x = self.embedding(ids)
        x = x + self.attention(self.first(x))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class _Residual(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
        self.shortcut = shortcut if stride != 1 or before != after else nn.Identity()

    def forward(self, x: Any) -> Any:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class ResNet(nn.Module):
    """ResNet-18 with its 64 channels and two blocks in each of four layers, or a smaller one."""

    def __init__(self, width: int = 64, layers: int = 4, blocks: int = 2, classes: int = 1000) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        parts = []
        for layer in range(layers):
            before, after = width << max(0, layer - 1), width << layer
            parts.append(_Residual(before, after, 1 if layer == 0 else 2))
            parts += [_Residual(after, after, 1) for _ in range(blocks - 1)]
        self.layers = nn.Sequential(*parts)
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(width << (layers - 1), classes)

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 3, 2, 1)
        return self.head(torch.flatten(self.pool(self.layers(x)), 1))


class VisionTransformer(nn.Module):
    """Patches, a class token, positions, one transformer block and a head."""

    def __init__(self, width: int = 32, heads: int = 4, patch: int = 4, patches: int = 16) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, patches + 1, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.head = nn.Linear(width, 10)

    def forward(self, x: Any) -> Any:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.positions
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.mlp(self.norm2(x))
        return self.head(x[:, 0])


class Recurrent(nn.Module):
    """Two layers of LSTM."""

    def __init__(self, width: int = 8, hidden: int = 16, layers: int = 2, bidirectional: bool = False) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, layers, batch_first=True, bidirectional=bidirectional)

    def forward(self, x: Any) -> Any:
        return self.lstm(x)[0]


class MobileBlock(nn.Module):
    """Depthwise and grouped convolutions, clipped activations, padding, mean pooling, group norm."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.deep = nn.Conv2d(4, 16, 1), nn.Conv2d(16, 16, 3, 2, 1, groups=16)
        self.grouped, self.norm = nn.Conv2d(16, 32, 3, padding=1, groups=4), nn.GroupNorm(4, 32)

    def forward(self, x: Any) -> Any:
        x = self.deep(F.relu6(self.wide(x)))
        x = self.norm(self.grouped(F.pad(x, (1, 0, 2, 1))))
        return F.avg_pool2d(F.leaky_relu(x, 0.1), 2)


def prepared(module: nn.Module) -> nn.Module:
    """The module for inference, with statistics in its batch norms that are not 0 and 1."""
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
    return module.eval()


class Applied(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


class SmallUNet(nn.Module):
    """An encoder and two decoders of different kinds: by a transposed convolution, and by interpolation."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, width, 3, padding=1)
        self.deep = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 3, stride=2, padding=1, output_padding=1)
        self.norm = nn.InstanceNorm2d(width, affine=True)
        self.out = nn.Conv2d(4 * width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        fine = F.elu(self.down(x))
        coarse = F.mish(self.deep(F.max_pool2d(fine, 2)))
        smooth = F.interpolate(coarse, scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(torch.cat([fine, self.norm(self.up(coarse)), smooth], 1))


class Gated(nn.Module):
    """A recurrent layer of another kind than LSTM, its states projected."""

    def __init__(self, kind: type[nn.RNNBase], **more: Any) -> None:
        super().__init__()
        self.layer = kind(8, 6, batch_first=True, **more)
        self.out = nn.Linear(12 if more.get("bidirectional") else 6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layer(x)[0])


def small_networks() -> dict[str, tuple[nn.Module, tuple[Any, ...]]]:
    """Small ones of each kind with inputs, by name; the same numbers each time."""
    torch.manual_seed(0)
    made = {
        "llama": (LlamaBlock(), (torch.randint(0, 50, (2, 6)),)),
        "resnet": (ResNet(8, layers=2, blocks=1, classes=10), (torch.randn(1, 3, 32, 32),)),
        "vit": (VisionTransformer(), (torch.randn(2, 3, 16, 16),)),
        "lstm": (Recurrent(), (torch.randn(2, 4, 8),)),
        "both_ways": (Recurrent(layers=1, bidirectional=True), (torch.randn(2, 3, 8),)),
        "mobile": (MobileBlock(), (torch.randn(2, 4, 9, 9),)),
        "unet": (SmallUNet(), (torch.randn(1, 3, 8, 8),)),
        "gru": (Gated(nn.GRU, bidirectional=True), (torch.randn(2, 3, 8),)),
        "rnn": (Gated(nn.RNN, bias=False), (torch.randn(2, 3, 8),)),
    }
    return {name: (prepared(module), inputs) for name, (module, inputs) in made.items()}
