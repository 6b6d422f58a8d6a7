"""No test reads or writes the home of the user who runs it, or takes settings from that user's environment."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from namekeeper.cli.journals import journals_of_this_host
from namekeeper.config.settings import SPECS
from namekeeper.errors import ConfigError


def test_the_home_is_a_folder_of_the_run(own_home):
    assert Path.home() == own_home
    assert own_home != Path(pwd.getpwuid(os.getuid()).pw_dir)
    with pytest.raises(ConfigError, match=str(own_home)):
        journals_of_this_host([])


def test_so_it_is_for_a_process_that_a_test_starts(own_home):
    found = subprocess.run(
        [sys.executable, "-c", "from pathlib import Path; print(Path.home())"],
        check=True,
        stdout=-1,
        text=True,
    )
    assert found.stdout == f"{own_home}\n"


def test_no_setting_comes_from_the_environment():
    names = {spec.variable for spec in SPECS.values()}
    assert not [name for name in os.environ if name in names or name.startswith(("ROCKETMQ_", "NAMESRV_"))]
