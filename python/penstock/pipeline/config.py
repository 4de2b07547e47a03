"""Settings for all pipelines of a program: default hooks, queues, callbacks, background tasks.

>>> from penstock.pipeline import config
>>> config.get_default_hook_class().__name__, config.get_default_queue_class().__name__
('TaskStatsHook', 'StatsQueue')
"""

from penstock.pipeline._background import (
    get_default_background_tasks,
    set_default_background_tasks,
)
from penstock.pipeline._build import get_default_build_callback, set_default_build_callback
from penstock.pipeline._hooks import get_default_hook_class, set_default_hook_class
from penstock.pipeline._profile import (
    diagnostic_mode_num_sources,
    get_default_profile_callback,
    get_default_profile_hook,
    is_diagnostic_mode_enabled,
    set_default_profile_callback,
    set_default_profile_hook,
)
from penstock.pipeline._queues import get_default_queue_class, set_default_queue_class
from penstock.pipeline._tasks import set_compact_log

__all__ = [
    "diagnostic_mode_num_sources",
    "get_default_background_tasks",
    "get_default_build_callback",
    "get_default_hook_class",
    "get_default_profile_callback",
    "get_default_profile_hook",
    "get_default_queue_class",
    "is_diagnostic_mode_enabled",
    "set_compact_log",
    "set_default_background_tasks",
    "set_default_build_callback",
    "set_default_hook_class",
    "set_default_profile_callback",
    "set_default_profile_hook",
    "set_default_queue_class",
]
