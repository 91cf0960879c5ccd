"""A control for the Chaos Toolkit: at the end of an experiment its run directory is sealed, and the journal laid beside it."""

import json
import logging
from typing import Any

from fireassay.chaos import session

__all__ = ["after_experiment_control"]

logger = logging.getLogger("chaostoolkit")
ENDED = ("completed", "failed")


def after_experiment_control(context: Any, state: dict[str, Any], **_: Any) -> None:
    """What is wrong here is put into the journal: an exception would be swallowed."""
    try:
        runs = session.finish(whole=state["status"] in ENDED)
        state["fireassay"] = {"runs": [str(path.absolute()) for path in runs], "whole": all(runs.values())}
        for path in runs:
            logger.info(f"Run directory: {path}")
            (path / "journal.json").write_text(json.dumps(state, indent=1, default=str) + "\n", encoding="utf-8")
    except Exception as error:
        session.finish(whole=False)
        state["fireassay"] = {"runs": [], "whole": False, "error": f"{type(error).__name__}: {error}"}
        logger.error(f"the run could not be sealed: {error}")
