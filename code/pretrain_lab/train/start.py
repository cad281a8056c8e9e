# SPDX-License-Identifier: MIT
"""The weights that a run of `pretrain_lab.train` starts from, instead of random ones."""

from functools import lru_cache

from pretrain_lab.checkpoints import AnyTokenizer, Model
from pretrain_lab.train.options import ConfigError
from pretrain_lab.trained import load_trained


@lru_cache(maxsize=1)
def load_start(name: str) -> tuple[Model, AnyTokenizer]:
    """Load the model and the vocabulary that `training.init_from` names, once.

    Raises:
        ConfigError: There is no such model.
    """
    try:
        return load_trained(name)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(f"training.init_from: {error}") from error
