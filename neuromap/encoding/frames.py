"""Encode images as frames of an input node. NumPy and float32 only: chips are fed without any framework."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from neuromap.arrays.even_spikes import even_spikes
from neuromap.arrays.frozen import freeze_arrays
from neuromap.datasets.tracks import PIXELS, ImageSet
from neuromap.errors import InputError, NetworkError, StimulusError, prefixed
from neuromap.files.argument_checks import needs, whole_number
from neuromap.files.messages import did_you_mean, show
from neuromap.network.weights import as_pair, cells_around, output_length, show_shape
from neuromap.render.value import Card

Frames: TypeAlias = NDArray[np.float32] | NDArray[np.bool_] | NDArray[np.int32]
# Entries of a layer's patches held at once.
_CHUNK = 2**22


def encode(
    encoding: InputEncoding,
    intensities: NDArray[np.float32],
    n_frames: int,
    rng: np.random.Generator | None = None,
) -> Frames:
    """Encode images, each shown for the same number of frames, or streams.

    Parameters
    ----------
    encoding : InputEncoding
        Encoding of the input node.
    intensities : ndarray of float32, shape (n_images, rows, columns, features)
        0 to 1, as returned by ``ImageSet.intensities()``; for streams, shape (n_images, n_frames, rows, columns,
        features), one picture per frame.
    n_frames : int
        Frames per image, 1 or more; each has its own noise.
    rng : numpy.random.Generator, optional
        Source of noise and Bernoulli spikes: first the noise of all frames, then the spikes. Needed if the encoding
        draws.

    Returns
    -------
    ndarray, shape (n_images, n_frames, rows, columns, features)
        With the node's rows, columns and features: float32 for code ``real``, from 0 to 1 less the mean, int32 for code
        ``value``, else bool. Of a still whose frames are all alike, they are read-only views of one.

    Raises
    ------
    StimulusError
        If the images do not fit the node, or are not intensities.
    InputError
        If ``n_frames`` is less than 1, or ``rng`` is needed but missing.
    NetworkError
        If the layer has no weights, the frames should show a track, or code ``rate`` gets a stream.
    """
    needs("encode: encoding", encoding, InputEncoding)
    if encoding.frames != "still":
        raise NetworkError(
            f'inputs.{encoding.node}.frames: "{encoding.frames}" is shown in training only (neuromap experiment, '
            "neuromap train); drop it to show one picture in all frames"
        )
    images = _images_given(encoding, intensities)
    if whole_number("n_frames", n_frames) < 1:
        raise InputError(f"n_frames = {n_frames}: must be 1 or more frames per image")
    if images.ndim == 5 and images.shape[1] != n_frames:
        raise StimulusError(
            f"input {encoding.node}: found streams of {images.shape[1]} frames; n_frames asks for {n_frames}"
        )
    if images.ndim == 5 and encoding.code == "rate":
        raise NetworkError(
            f'inputs.{encoding.node}: code = "rate" spreads the spikes of a still over its frames; for a stream take '
            '"threshold" or "bernoulli"'
        )
    if encoding.is_drawn and not isinstance(rng, np.random.Generator):
        raise InputError(f"rng = {show(rng)}: input {encoding.node} is drawn; give numpy.random.default_rng(seed)")
    if encoding.code == "rate":
        spikes = even_spikes(images.reshape(len(images), -1), n_frames)
        return spikes.swapaxes(0, 1).reshape(len(images), n_frames, *images.shape[1:])
    films = images if images.ndim == 5 else images[:, np.newaxis]
    repeated = np.broadcast_to(films, (len(images), n_frames, *images.shape[-3:]))
    if images.ndim == 4 and not encoding.is_drawn:
        still: NDArray[Any] = _coded(encoding, images)
        frames: Frames = np.broadcast_to(still[:, np.newaxis], (len(images), n_frames, *still.shape[1:]))
        return frames
    noisy = repeated if rng is None else _noisy(repeated, encoding.noise, rng)
    if encoding.code == "bernoulli" and rng is not None:
        return np.less(rng.random(noisy.shape, np.float32), noisy)
    return _coded(encoding, noisy.reshape(-1, *images.shape[-3:])).reshape(len(images), n_frames, *encoding.shape)


def encode_set(
    encoding: InputEncoding,
    images: ImageSet,
    n_frames: int,
    seed: int,
    which: NDArray[np.integer] | slice | None = None,
    ticks: Sequence[int] | None = None,
) -> Frames:
    """Encode images of a set; the frames of each do not depend on the others.

    Intensities are those of the network: real numbers of the set are taken in the range that ``encoding.seen`` names.

    Image k of the set has its own generator, ``numpy.random.default_rng([seed, k])``, so its frames are the same in
    every batch and process.

    Parameters
    ----------
    encoding : InputEncoding
        Encoding of the input node.
    images : ImageSet
        The set.
    n_frames : int
        Frames per image, 1 or more.
    seed : int
        0 or more.
    which : ndarray of int, slice or None
        Indices of images in the set; all by default.
    ticks : sequence of int, length n_frames, optional
        For streams: tick since the onset at which each frame is sampled (:meth:`neuromap.Rollout.sample_ticks`); frame
        k at tick k by default. Before its onset and after its end, a stream is black.

    Returns
    -------
    ndarray, shape (n_images, n_frames, rows, columns, features)
        As from :func:`encode`: 4 bytes per entry for codes ``real`` and ``value``, else 1.

    Raises
    ------
    StimulusError
        If the images do not fit the node, or are pixels where the network takes other real numbers, or the reverse.
    InputError
        If ``n_frames`` is less than 1, ``seed`` negative, or an index out of range.
    NetworkError
        If the layer has no weights.
    """
    needs("encode_set: images", images, ImageSet)
    if whole_number("seed", seed) < 0:
        raise InputError(f"seed = {seed}: must be 0 or more")
    numbers = _numbers(len(images.images), which)
    when = range(n_frames) if ticks is None else ticks
    if len(when) != n_frames:
        raise InputError(f"ticks: found {len(when)}; give one for each of the {n_frames} frames")

    def shown(chosen: NDArray[np.integer] | slice) -> NDArray[np.float32]:
        if not images.is_stream:
            return encoding.in_units(images, images.intensities(chosen))
        streams = images.shown(when, chosen).astype(np.float32) / np.float32(images.white)
        return encoding.in_units(images, streams)

    if not encoding.is_drawn or not len(numbers):
        return encode(encoding, shown(numbers), n_frames, np.random.default_rng(seed))
    parts: list[NDArray[Any]] = [
        encode(encoding, shown(slice(k, k + 1)), n_frames, np.random.default_rng([seed, k])) for k in numbers.tolist()
    ]
    joined: Frames = np.concatenate(parts)
    return joined


def _numbers(n_images: int, which: NDArray[np.integer] | slice | None) -> NDArray[np.int64]:
    everything = np.arange(n_images)
    try:
        return everything if which is None else np.atleast_1d(everything[which])
    except IndexError:
        raise InputError(f"which = {show(which)}: allowed are numbers of images, 0 to {n_images - 1}") from None


def _images_given(encoding: InputEncoding, intensities: NDArray[np.float32]) -> NDArray[np.float32]:
    is_array = isinstance(intensities, np.ndarray)
    if not is_array or intensities.dtype.kind != "f" or intensities.ndim not in (4, 5):
        found = f"{intensities.dtype}{list(intensities.shape)}" if is_array else show(intensities)
        raise StimulusError(
            f"input {encoding.node}: found {found}; allowed are intensities, floats [images, rows, columns, features], "
            "of streams [images, frames, rows, columns, features]; take ImageSet.intensities()"
        )
    encoding.check_images(intensities.shape[-3:])
    images = intensities.astype(np.float32, copy=False)
    if images.size and not 0 <= images.min() <= images.max() <= 1:  # false for NaN
        raise StimulusError(
            f"input {encoding.node}: found intensities from {images.min():g} to {images.max():g}; allowed are 0 to 1"
        )
    return images


def _noisy(images: NDArray[np.float32], noise: float, rng: np.random.Generator) -> NDArray[np.float32]:
    if noise == 0:
        return images
    drawn = rng.standard_normal(images.shape, np.float32)
    drawn *= np.float32(noise)
    drawn += images
    return np.clip(drawn, 0, 1, out=drawn)


def _coded(encoding: InputEncoding, images: NDArray[np.float32]) -> Frames:
    """Encode pictures, shape (n, rows, columns, features), without random draws."""
    if encoding.code == "threshold":
        levels = np.array(encoding.levels, np.float32)
        return (images[..., np.newaxis] >= levels).reshape(len(images), *encoding.shape)
    if encoding.code == "layer":
        if encoding.weights is None or encoding.thresholds is None:
            raise NetworkError(f"inputs.{encoding.node}: its layer has no weights yet; train the network")
        return _convolved(images, encoding.weights, encoding.stride) >= encoding.thresholds
    if encoding.code == "value":
        return _values(encoding, images)
    return images - np.array(encoding.mean, np.float32) if encoding.mean else images


def _values(encoding: InputEncoding, images: NDArray[np.float32]) -> NDArray[np.int32]:
    if encoding.values is None:
        raise NetworkError(f"inputs.{encoding.node}: the range of its values is not known; give values = (low, high)")
    low, high = encoding.values
    if not encoding.mean and not encoding.step:  # pixels as they are
        return np.rint(images * 255).astype(np.int32) - np.int32(encoding.zero_point)
    mean, step = encoding.mean or (0.0,), encoding.step or (1 / 255,)
    found: NDArray[np.int32] = np.rint((images - np.array(mean)) / np.array(step)).clip(low, high).astype(np.int32)
    return found


def _convolved(
    images: NDArray[np.float32], weights: NDArray[np.float32], stride: tuple[int, int]
) -> NDArray[np.float32]:
    """Cross-correlate as ``neuromap.network.transforms.Conv`` does with padding "same"."""
    kernel = (weights.shape[0], weights.shape[1])
    along = zip(images.shape[1:3], kernel, stride, strict=True)
    padding = [(0, 0), *(cells_around(n, -(-n // s), k, s, "same") for n, k, s in along), (0, 0)]
    patches = sliding_window_view(np.pad(images, padding), kernel, (1, 2))  # type: ignore[call-overload]
    patches = patches[:, :: stride[0], :: stride[1]]
    n, rows, columns = patches.shape[:3]
    matrix = weights.transpose(2, 0, 1, 3).reshape(-1, weights.shape[3])
    summed = np.empty((n, rows * columns, weights.shape[3]), np.float32)
    step = max(1, _CHUNK // max(1, patches[:1].size))
    for start in range(0, n, step):  # one product per image: in larger ones, sums could depend on the other images
        part = patches[start : start + step]
        np.matmul(part.reshape(len(part), rows * columns, -1), matrix, out=summed[start : start + step])
    return summed.reshape(n, rows, columns, -1)


# How the host encodes images for one input node.


Code: TypeAlias = Literal["real", "threshold", "bernoulli", "layer", "value", "rate"]
# Codes by which intensities become frames; ``real`` and ``value`` give no spikes.
CODES: tuple[str, ...] = get_args(Code)
Shown: TypeAlias = Literal["still", "track"]
# What frames show: one picture, or consecutive pictures of one track.
SHOWN: tuple[str, ...] = get_args(Shown)
# Ranges that differ by less, in parts of their span, are one: tables hold quotients of them.
_ROUNDING = 1e-6
# Greatest standard deviation of the noise; intensities are 0 to 1.
MAX_NOISE = 100.0
# Most levels: an intensity has no more values.
MAX_LEVELS = 256


@dataclass(frozen=True, eq=False)
class InputEncoding(Card):
    """How the host encodes images for an input node.

    First noise: Gaussian noise of mean 0 is drawn anew for every frame and pixel and added to the intensities, which
    are 0 to 1; the sum is clipped to 0 to 1. Then the code:

    - ``real``: the intensities themselves, less the mean where one is given; for training and reference only, no chip
      takes them.
    - ``threshold``: 1 where the intensity reaches a level. Several levels make a thermometer: channel
      ``feature * n_levels + level`` of the node.
    - ``bernoulli``: 1 with a probability equal to the intensity, drawn independently.
    - ``layer``: a convolution on the host (padding ``same``, as :class:`~neuromap.network.transforms.Conv` has
      it), and 1 where its sum reaches the threshold of the feature.
    - ``rate``: spikes in a fraction of the frames, the intensity p, spread evenly: none in frame 0, one in frame k
      where floor(k p + a) > floor((k - 1) p + a). Neuron j is ahead by a, the fractional part of j times
      (sqrt(5) - 1) / 2, so that equal intensities do not spike together.
    - ``value``: the values of a graded node: the pixel, 0 to 255, less the zero point. With a mean or a step it is
      ``(intensity - mean) / step``, rounded to the nearest integer (ties to even) and clipped to the node's
      values, as a quantiser does.

    Attributes
    ----------
    node : str
        Name of the input node.
    shape : tuple of three int
        Rows, columns, features of the node.
    noise : float
        Standard deviation of the noise, 0 to 100, in units of intensity.
    code : {"real", "threshold", "bernoulli", "layer", "value", "rate"}
        How intensities become frames.
    levels : tuple of float
        Code ``threshold``: levels from 0 to 1, ascending.
    kernel, stride : tuple of two int
        Code ``layer``: along rows and columns.
    weights : ndarray of float32, shape (kernel rows, kernel columns, image features, node features), or None
        Code ``layer``: read-only; ``None`` until it is trained.
    thresholds : ndarray of float32, shape (node features,), or None
        Code ``layer``: read-only.
    mean : tuple of float
        Codes ``real`` and ``value``: subtracted after noise and clipping, in units of intensity, 0 to 1: a number for
        each feature or one for all; empty to subtract nothing.
    frames : {"still", "track"}
        Code ``real``: whether all frames show one picture, or consecutive pictures of one track (training only).
    step : tuple of float
        Code ``value``: intensity of a value of 1, above 0: a number for each feature or one for all; if empty, values
        are pixels or, with a mean, it is 1/255.
    values : tuple of two int, or None
        Code ``value``: least and greatest value of the node.
    zero_point : int
        Code ``value``: zero point of the node.
    seen : tuple of two float, or None
        Real numbers that intensities 0 and 1 stand for, as of :class:`~neuromap.datasets.ImageSet`; ``None``: as the
        scale says, else 0 and 1.
    scale : float or None
        Code ``value``: real number that a value of 1 stands for; ``None`` if the node has none.

    Raises
    ------
    NetworkError
        If a value is outside its bounds, or shapes do not fit each other.
    """

    node: str
    shape: tuple[int, int, int]
    noise: float = 0.0
    code: Code = "real"
    levels: tuple[float, ...] = (0.5,)
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    weights: NDArray[np.float32] | None = None
    thresholds: NDArray[np.float32] | None = None
    mean: tuple[float, ...] = ()
    frames: Shown = "still"
    step: tuple[float, ...] = ()
    values: tuple[int, int] | None = None
    zero_point: int = 0
    seen: tuple[float, float] | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if self.code not in CODES:
            near = did_you_mean(self.code, CODES) if isinstance(self.code, str) else ""
            raise self._wrong("code", self.code, f"are {', '.join(CODES)}{near}")
        if not _is_number(self.noise) or not 0 <= self.noise <= MAX_NOISE:
            raise self._wrong("noise", self.noise, f"are numbers from 0 to {MAX_NOISE:g}")
        if self.code == "rate" and self.noise:
            raise self._wrong("noise", self.noise, 'is none with code = "rate", whose spikes are spread evenly')
        self._check_levels()
        if self.is_binary and self.mean:
            raise self._wrong(
                "mean", self.mean, 'is none with a code that gives spikes; drop it, or take code = "real"'
            )
        self._check_each("mean", "from 0 to 1", takes_zero=True)
        if self.code != "value" and self.step:
            raise self._wrong("step", self.step, 'is none with another code than "value"; drop it')
        self._check_each("step", "above 0, to 1", takes_zero=False)
        self._check_values()
        if self.seen is not None:
            object.__setattr__(self, "seen", self._range_given(self.seen))
        if self.frames not in SHOWN:
            raise self._wrong("frames", self.frames, f"are {', '.join(SHOWN)}")
        if self.code != "real" and self.frames != "still":
            raise self._wrong("frames", self.frames, 'is "still" with a code that gives spikes; drop it')
        for name in ("kernel", "stride"):
            with prefixed(f"inputs.{self.node}.", NetworkError):
                object.__setattr__(self, name, as_pair(getattr(self, name), name))
        self._check_layer()

    @property
    def is_binary(self) -> bool:
        """Whether frames are spikes."""
        return self.code not in ("real", "value")

    @property
    def is_for_chip(self) -> bool:
        """Whether a chip can take the frames: spikes or values."""
        return self.code != "real"

    @property
    def is_drawn(self) -> bool:
        """Whether frames are drawn at random."""
        return self.noise > 0 or self.code == "bernoulli"

    @property
    def is_constant(self) -> bool:
        """Whether all frames of one image are alike."""
        return not self.is_drawn and self.code != "rate"

    def check_images(self, shape: Sequence[int]) -> None:
        """Refuse images that do not fit the node.

        Parameters
        ----------
        shape : sequence of three int
            Rows, columns, features of an image.

        Raises
        ------
        StimulusError
            If they do not; the message names the shapes that do.
        """
        if len(shape) != 3 or self.frame_shape(shape) != self.shape:
            raise StimulusError(
                f"input {self.node}: images of shape {show_shape(shape)} do not fit; the node has the shape "
                f'{show_shape(self.shape)}, which with code = "{self.code}" takes images of {self._fitting()}'
            )

    def range_for(self, images: ImageSet, otherwise: tuple[float, float] = PIXELS) -> tuple[float, float]:
        """Return the real numbers that intensities 0 and 1 stand for in the network.

        Parameters
        ----------
        images : ImageSet
            Images to show: pixels are the integers of a graded node without mean and step, whatever its scale.
        otherwise : tuple of two float
            What they are if neither ``seen`` nor the scale of a graded node says it.

        Returns
        -------
        tuple of two float
        """
        if self.seen is not None:
            return self.seen
        if self.scale is None or len(self.step) > 1 or len(self.mean) > 1:
            return otherwise
        is_plain = not self.mean and not self.step
        if is_plain and images.seen == PIXELS:
            return PIXELS
        (mean,) = self.mean or (self.zero_point / 255 if is_plain else 0.0,)
        (step,) = self.step or (1 / 255,)
        span = self.scale / step
        found = (-mean * span, (1 - mean) * span)
        return PIXELS if _alike(found, PIXELS) else found

    def check_units(self, images: ImageSet) -> None:
        """Refuse pixels where the network was made for numbers outside 0 to 1, and such numbers where it takes pixels.

        Parameters
        ----------
        images : ImageSet
            Images to show.

        Raises
        ------
        StimulusError
            If they are in other units; the message names the remedy.
        """
        own, made_for = images.seen, self.range_for(images)
        other = made_for if own == PIXELS else own
        if PIXELS not in (own, made_for) or 0 <= other[0] <= other[1] <= 1:
            return
        (low, high), (black, white) = own, made_for
        remedy = f"if it was made for these, write seen = [{low!r}, {high!r}] in [inputs.{self.node}]; else give pixels"
        if own == PIXELS:
            remedy = "give real numbers as the network saw them (npz:FILE), normalised as in training"
        raise StimulusError(
            f"input {self.node}: {images.name} images are {low:.7g} to {high:.7g}, the network was made for "
            f"{black:.7g} to {white:.7g}; {remedy}"
        )

    def in_units(self, images: ImageSet, shown: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map intensities of a set to those of the network.

        Parameters
        ----------
        images : ImageSet
            The set.
        shown : ndarray of float32
            Intensities of some of its images, 0 to 1.

        Returns
        -------
        ndarray of float32
            Beyond black and white of the network they are clipped.

        Raises
        ------
        StimulusError
            If the images are in other units.
        """
        self.check_units(images)
        (low, high), (black, white) = images.seen, self.range_for(images)
        if _alike((low, high), (black, white)):
            return shown
        reals = shown.astype(np.float64) * (high - low) + low
        found: NDArray[np.float32] = ((reals - black) / (white - black)).clip(0, 1).astype(np.float32)
        return found

    def frame_shape(self, shape: Sequence[int]) -> tuple[int, int, int] | None:
        """Return the shape of the frames that images would give.

        Parameters
        ----------
        shape : sequence of three int
            Rows, columns, features of an image.

        Returns
        -------
        tuple of three int or None
            ``None`` if the layer has weights for another number of features.
        """
        rows, columns, features = shape
        if self.code == "threshold":
            return rows, columns, features * len(self.levels)
        if self.code != "layer":
            return rows, columns, features
        if self.weights is not None and self.weights.shape[2] != features:
            return None
        windows = (output_length(n, 1, s, "same") for n, s in zip((rows, columns), self.stride, strict=True))
        return (*windows, self.shape[2])  # type: ignore[return-value] # two of them

    def _fitting(self) -> str:
        """Describe the images that fit."""
        rows, columns, features = self.shape
        if self.code == "threshold":
            return show_shape((rows, columns, features // len(self.levels)))
        if self.code != "layer":
            return show_shape(self.shape)
        high = (rows * self.stride[0], columns * self.stride[1])
        low = (high[0] - self.stride[0] + 1, high[1] - self.stride[1] + 1)
        spans = (f"{a} to {b}" if a < b else f"{a}" for a, b in zip(low, high, strict=True))
        depth = "any number of" if self.weights is None else str(self.weights.shape[2])
        return "{} rows, {} columns, {} features".format(*spans, depth)

    def _check_levels(self) -> None:
        levels = self.levels
        allowed = f"are 1 to {MAX_LEVELS} numbers from 0 to 1, ascending"
        if not isinstance(levels, Sequence) or isinstance(levels, str) or not 1 <= len(levels) <= MAX_LEVELS:
            raise self._wrong("levels", levels, allowed)
        if not all(_is_number(level) and 0 <= level <= 1 for level in levels) or sorted({*levels}) != list(levels):
            raise self._wrong("levels", list(levels), allowed)
        object.__setattr__(self, "levels", tuple(float(level) for level in levels))
        if self.code == "threshold" and self.shape[2] % len(levels):
            raise self._wrong("levels", list(levels), f"are as many as divide the {self.shape[2]} features of the node")

    def _check_each(self, key: str, bounds: str, *, takes_zero: bool) -> None:
        """Require no number, one, or one for each feature, each up to 1."""
        given, features = getattr(self, key), self.shape[2]
        allowed = f"are one number {bounds}, or {features}, one for each feature of the node"
        if not isinstance(given, tuple):
            raise self._wrong(key, given, allowed)
        if len(given) not in (0, 1, features) or not all(
            _is_number(n) and 0 <= n <= 1 and (takes_zero or n) for n in given
        ):
            raise self._wrong(key, list(given), allowed)
        object.__setattr__(self, key, tuple(float(n) for n in given))

    def _range_given(self, given: Any) -> tuple[float, float]:
        is_range = isinstance(given, tuple) and len(given) == 2 and all(map(_is_number, given))
        low, high = map(float, given) if is_range else (0.0, 0.0)
        if not (low < high and np.isfinite([low, high]).all()):
            found = list(given) if isinstance(given, tuple) else given
            raise self._wrong("seen", found, "are two numbers, of black and of white, ascending")
        return low, high

    def _check_values(self) -> None:
        if self.code == "value" and self.values is not None and not self.step and not self.mean:
            least, most, (low, high) = -self.zero_point, 255 - self.zero_point, self.values
            if least < low or most > high:
                raise NetworkError(
                    f"inputs.{self.node}: pixels less the zero point are {least} to {most}, the node has values {low} "
                    f"to {high}; give it another range or zero_point, or say by step and mean how intensities become "
                    "values"
                )

    def _check_layer(self) -> None:
        if self.weights is None and self.thresholds is None:
            return
        if self.code != "layer" or self.weights is None or self.thresholds is None:
            raise NetworkError(f'inputs.{self.node}: weights and thresholds come together, with code = "layer" only')
        for name, array, wanted in (
            ("encoder", self.weights, (*self.kernel, None, self.shape[2])),
            ("encoder.threshold", self.thresholds, (self.shape[2],)),
        ):
            fits = array.ndim == len(wanted) and all(w in (n, None) for n, w in zip(array.shape, wanted, strict=True))
            if array.dtype != np.float32 or not fits:
                shape = ", ".join("image features" if n is None else str(n) for n in wanted)
                raise NetworkError(
                    f"inputs.{self.node}: tensor {self.node}.{name}: found {array.dtype} {show_shape(array.shape)}; "
                    f"kernel and node allow float32 [{shape}]"
                )
            if not np.isfinite(array).all():
                raise NetworkError(
                    f"inputs.{self.node}: tensor {self.node}.{name}: found NaN or infinity; only finite numbers are "
                    "allowed"
                )

    def _wrong(self, key: str, found: object, allowed: str) -> NetworkError:
        return NetworkError(f"inputs.{self.node}.{key}: found {show(found)}; allowed {allowed}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _alike(one: tuple[float, float], other: tuple[float, float]) -> bool:
    most = _ROUNDING * (other[1] - other[0])
    return all(math.isclose(a, b, rel_tol=0, abs_tol=most) for a, b in zip(one, other, strict=True))
