# SPDX-License-Identifier: MIT
"""Call a function with arguments that are partly wrong, and hold it to its docstring.

A test names a function, a strategy of keyword arguments, and the promises of the docstring:

    @fuzz(causal_mask, calls(seq_len=sizes(), n_past=sizes()))
    def test_causal_mask(mask: Tensor, seq_len: int, n_past: int) -> None:
        assert mask.shape == (seq_len, n_past + seq_len)

The function either raises an error that its docstring lists under Raises, with a message, or
returns; then the body is run on the result and the arguments. In either case the arguments must be
what they were, but for generators, models and what the test names in `changes`.
"""

import builtins
import copy
import inspect
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy
from torch import Tensor

LONG = "FUZZ_CASES" in os.environ
N_CASES = int(os.environ.get("FUZZ_CASES", "100"))
SEED = int(os.environ.get("FUZZ_SEED", secrets.randbits(32)))
"""Of the long run, which draws new cases each time; the ordinary one repeats its own."""

# Registered, never loaded: the unit tests in the same process keep the profile that they have.
settings.register_profile(
    "fuzz",
    max_examples=100,
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "fuzz-long", settings.get_profile("fuzz"), max_examples=N_CASES, derandomize=False
)


@dataclass
class Record:
    """What became of the calls of one function."""

    cases: int = 0
    returned: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """Give the counts as JSON has them."""
        errors = dict(sorted(self.errors.items()))
        return {"cases": self.cases, "returned": self.returned, "errors": errors}


RECORDS: dict[str, Record] = {}
"""By the name of the function, such as "masks.causal_mask"; filled as the tests run."""


def name_of(function: Callable[..., Any]) -> str:
    """Give module and name without the package: "rouge.words", "prompts.Template.ask"."""
    return f"{function.__module__.removeprefix('pretrain.')}.{function.__qualname__}"


def documented_errors(function: Callable[..., Any]) -> tuple[type[Exception], ...]:
    """Read the classes of errors from the Raises section of a docstring."""
    documented = function.__init__ if inspect.isclass(function) else function
    section = re.search(r"^Raises:\n((?:    .*\n|\n)*)", f"{inspect.getdoc(documented)}\n", re.M)
    names = re.findall(r"^    (\w+):", section[1], re.M) if section else []
    known = {**vars(builtins), **vars(sys.modules[function.__module__])}
    return tuple(known[name] for name in names)


def fuzz(
    function: Callable[..., Any],
    arguments: SearchStrategy[dict[str, Any]],
    *,
    changes: Collection[str] = (),
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make a test of a function out of what must hold when it returns.

    Args:
        function: Of the package.
        arguments: Strategy of keyword arguments; "*" holds positional ones.
        changes: Names of arguments that the docstring says are changed.
    """
    documented = documented_errors(function)
    profile = settings.get_profile("fuzz-long" if LONG else "fuzz")

    def decorate(promises: Callable[..., None]) -> Callable[[], None]:
        """Wrap the promises."""

        def run(call: dict[str, Any]) -> None:
            """Call the function once."""
            record = RECORDS.setdefault(name_of(function), Record())
            record.cases += 1
            positional, named = call.get("*", ()), {k: v for k, v in call.items() if k != "*"}
            before = {name: frozen(value) for name, value in call.items() if name not in changes}
            torch.default_generator.manual_seed(0)
            try:
                result = function(*positional, **named)
                if inspect.isgenerator(result):
                    result = list(result)
            except documented as error:
                if type(error) not in documented or not str(error).strip():
                    raise AssertionError("a subclass, or an error without a message") from error
                record.errors[type(error).__name__] += 1
                result = run  # stands for no result
            for name, old in before.items():
                assert frozen(call[name]) == old, f"{name} was changed in place"
            if result is not run:
                record.returned += 1
                promises(result, *positional, **named)

        run.__name__, run.__doc__ = promises.__name__, promises.__doc__
        run.__module__, run.__qualname__ = promises.__module__, promises.__qualname__
        test = profile(given(call=arguments)(run))
        if LONG:
            test = seed(SEED)(test)
        test.fuzzed = name_of(function)  # type: ignore[attr-defined]
        return test

    return decorate


def frozen(value: Any) -> Any:
    """Give something that equals itself later if and only if the value has not changed."""
    if isinstance(value, Tensor):
        flat = value.detach().contiguous().view(-1)
        return str(value.dtype), tuple(value.shape), flat.view(torch.uint8).numpy().tobytes()
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, Mapping):
        return {key: frozen(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [frozen(item) for item in value]
    if isinstance(value, set):
        return copy.copy(value)
    return repr(value) if isinstance(value, (int, float, str)) else None


def replay(generator: torch.Generator, old: torch.Generator) -> None:
    """Set a generator back to where another one stands."""
    generator.set_state(old.get_state())
