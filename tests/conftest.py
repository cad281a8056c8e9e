# SPDX-License-Identifier: MIT
"""What every test starts from: the strict build, once, and the tiny models that many of them
share."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from strict_build import Build, build_book
from torch import Generator, nn

from pretrain.bert import BERT, BERTConfig
from pretrain.gpt import GPT, GPTConfig
from pretrain.t5 import T5, T5Config

# The same examples at every run, and no limit on their time: a busy machine is no failure.
settings.register_profile(
    "book", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("book")

SIZES = {"d_model": 8, "n_layers": 2, "n_heads": 2, "max_len": 12}


@pytest.fixture(autouse=True)
def same_start() -> None:
    """Fix torch's global generator and use one thread."""
    torch.manual_seed(0)
    torch.set_num_threads(1)


@pytest.fixture
def generator() -> Generator:
    """Give a generator with a fixed seed."""
    return torch.Generator().manual_seed(0)


@pytest.fixture
def scramble() -> Callable[[nn.Module], nn.Module]:
    """Give a function that draws every parameter anew, so that no bias is 0 and no gain is 1.

    Biases are small beside gains. Otherwise the final bias alone would decide the most likely
    token, and it would be the same one after every text.
    """

    def draw(model: nn.Module) -> nn.Module:
        """Replace all parameters in place and move the model to float64, evaluation mode."""
        model.double().eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("bias"):
                    parameter.normal_(std=0.1)
                else:
                    parameter.normal_(mean=float(parameter.dim() == 1), std=0.4)
        return model

    return draw


@pytest.fixture
def tiny_gpt(scramble: Callable[[nn.Module], nn.Module]) -> Callable[..., GPT]:
    """Give a builder of a float64 GPT with 11 tokens, width 8 and 12 positions."""

    def build(**options: object) -> GPT:
        """Build it; options replace the sizes."""
        model = GPT(GPTConfig(11, **{**SIZES, **options}))  # type: ignore[arg-type]
        scramble(model)
        return model

    return build


@pytest.fixture
def tiny_bert(scramble: Callable[[nn.Module], nn.Module]) -> Callable[..., BERT]:
    """Give a builder of a float64 BERT with 11 tokens, width 8 and 12 positions."""

    def build(**options: object) -> BERT:
        """Build it; options replace the sizes."""
        model = BERT(BERTConfig(11, **{**SIZES, **options}))  # type: ignore[arg-type]
        scramble(model)
        return model

    return build


@pytest.fixture
def tiny_t5(scramble: Callable[[nn.Module], nn.Module]) -> Callable[..., T5]:
    """Give a builder of a float64 T5 with 11 tokens, width 8, and heads that are 3 wide."""

    def build(**options: object) -> T5:
        """Build it; options replace the sizes."""
        sizes = {"d_model": 8, "n_layers": 2, "n_heads": 2, "d_head": 3, "d_ff": 20}
        model = T5(T5Config(11, **{**sizes, **options}))  # type: ignore[arg-type]
        scramble(model)
        return model

    return build


@pytest.fixture
def influence() -> Callable[[nn.Module, torch.Tensor], torch.Tensor]:
    """Give a function that measures how much each input position moves each output position."""

    def measure(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
        """Sum |d logits_t / d embedding_s| over both vectors; (T, T), indexed [t, s]."""
        embedded = model.embeddings(ids).detach()
        given: list[torch.Tensor] = []
        hook = model.embeddings.register_forward_hook(lambda *_: given[0])

        def run(x: torch.Tensor) -> torch.Tensor:
            """Run the model on these embeddings instead of its own."""
            given[:] = [x]
            logits: torch.Tensor = model(ids)[0]
            return logits

        jacobian = torch.autograd.functional.jacobian(run, embedded)  # (T, V, 1, T, D)
        hook.remove()
        return jacobian.abs().sum(dim=(1, 2, 4))

    return measure


@pytest.fixture(scope="session")
def repository() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def build(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The finished build and the folder of its pages."""
    from tools.editions.scripts import FOLDER, write_scripts  # which unit tests do not need

    output = tmp_path_factory.mktemp("book")
    write_scripts(repository / FOLDER)
    return build_book(repository, output), output / "_build" / "html"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let an author test pages that are built already: ``pytest tests/browser --pages FOLDER``."""
    parser.addoption("--pages", type=Path, help="built pages to test, instead of a strict build")


@pytest.fixture(scope="session")
def html(request: pytest.FixtureRequest) -> Path:
    """The folder of the book's pages, once they have built without a warning."""
    if folder := request.config.getoption("--pages"):
        return folder.resolve()
    done, folder = request.getfixturevalue("build")
    if done.returncode:
        pytest.fail("the build failed, see test_builds_without_a_warning", pytrace=False)
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the browser's tests last: its event loop, once started, stays in the main thread."""
    items.sort(key=lambda item: item.path.parent.name == "browser")
