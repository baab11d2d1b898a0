"""What a failing disk, other processes and signals do: the old target survives whole, or the new one is whole."""

import errno
import hashlib
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time

import h5py
import numpy as np
import pytest

import unparallel
from unparallel import atomic, conversion, hdf5
from unparallel.errors import FileError, NotKerasError, TargetExistsError, VerificationError, WriteError
from unparallel.hdf5 import disk
from unparallel.hdf5 import target as new_files

from . import inject, tiny, trees
from .processes import ROOT, run

OLD = b"what was there before"
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX")
injected = pytest.mark.skipif(not inject.POSSIBLE, reason="Linux on x86-64 or ARM64")
root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root mounts file systems")


def model(size=3):
    layers = (tiny.entry("x", size), tiny.dense("first", "x", size, size), tiny.batchnorm("middle", "first", size))
    return tiny.TinyModel("net", layers, ("x",), ("middle",))


@pytest.fixture
def source(tmp_path):
    slots = [("training/Adam/Variable:0", np.arange(6.0).reshape(2, 3))]
    settings = {"optimizer_config": {"class_name": "Adam", "config": {}}}
    return tiny.save(tmp_path / "parallel.h5", tiny.parallel(model(), 2), settings, slots)


@pytest.fixture
def folder(tmp_path):
    """A folder with an old target in it."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "clean.h5").write_bytes(OLD)
    return tmp_path / "out"


def untouched(folder):
    """Whether the old target is as it was, and alone."""
    return os.listdir(str(folder)) == ["clean.h5"] and (folder / "clean.h5").read_bytes() == OLD


def fails(source, folder, says, kind=WriteError):
    with pytest.raises(kind, match=says) as caught:
        unparallel.convert(source, folder / "clean.h5", overwrite=True)
    assert caught.value.hint
    assert untouched(folder)
    return caught.value


def slowly(call, seconds):
    def wait_and_call(*args):
        time.sleep(seconds)
        return call(*args)

    return wait_and_call


# -- disks ------------------------------------------------------------------------------------------------


class TestEveryCallFails:
    """Each call that writes fails once, the first, the second, ... with each error that a disk has."""

    @pytest.fixture(autouse=True)
    def piece_by_piece(self, monkeypatch):
        """As a large file is written: HDF5 itself writes through the disk."""
        monkeypatch.setattr(new_files, "GATHERED", -1)

    def sweep(self, monkeypatch, source, folder, name, number, most):
        real = getattr(os, name)
        total = [0]

        def counting(*args):
            total[0] += 1
            return real(*args)

        monkeypatch.setattr(disk.os, name, counting)
        unparallel.convert(source, folder / "probe.h5")
        (folder / "probe.h5").unlink()
        count = total[0]
        assert count
        for wanted in sorted({round(i * (count - 1) / max(1, most - 1)) for i in range(most)}):
            calls = [0]

            def failing(*args, calls=calls, wanted=wanted):
                calls[0] += 1
                if calls[0] > wanted:
                    raise OSError(number, os.strerror(number))
                return real(*args)

            monkeypatch.setattr(disk.os, name, failing)
            error = fails(source, folder, "clean.h5: cannot write: " + os.strerror(number))
            assert str(folder) in str(error)
            monkeypatch.setattr(disk.os, name, real)

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT], ids=errno.errorcode.get)
    def test_write(self, monkeypatch, source, folder, number):
        self.sweep(monkeypatch, source, folder, "write", number, 25)

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT], ids=errno.errorcode.get)
    def test_write_of_a_small_file(self, monkeypatch, source, folder, number):
        monkeypatch.setattr(new_files, "GATHERED", os.path.getsize(source))
        self.sweep(monkeypatch, source, folder, "write", number, 25)

    def test_fsync(self, monkeypatch, source, folder):
        monkeypatch.setattr(os, "fsync", self.broken(errno.EIO))
        fails(source, folder, "cannot write: Input/output error")

    @pytest.mark.skipif(not hasattr(os, "fdatasync"), reason="this system syncs in one way only")
    def test_fsync_while_more_is_written(self, monkeypatch, source, folder):
        monkeypatch.setattr(disk, "EARLY", 0)
        monkeypatch.setattr(os, "fdatasync", self.broken(errno.EIO))
        # once it has failed, the system may say that all is well: what was lost is told once
        monkeypatch.setattr(os, "write", slowly(os.write, 0.001))
        fails(source, folder, "cannot write: Input/output error")

    def test_no_more_threads(self, monkeypatch, source, folder):
        def start(thread):
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", start)
        for early in (0, disk.EARLY):
            monkeypatch.setattr(disk, "EARLY", early)
            assert unparallel.convert(source, folder.parent / (f"{early}.h5")).verified
        monkeypatch.setattr(os, "fsync", self.broken(errno.EIO))
        fails(source, folder, "cannot write: Input/output error")

    @pytest.mark.slow
    def test_a_file_that_is_given_up_is_not_synced_for_ever(self, monkeypatch, source, folder):
        monkeypatch.setattr(disk, "EARLY", 0)
        before = set(threading.enumerate())
        self.sweep(monkeypatch, source, folder, "write", errno.ENOSPC, 25)
        for thread in set(threading.enumerate()) - before:
            thread.join(5)
        assert set(threading.enumerate()) == before

    @pytest.mark.slow
    def test_the_disk_has_all_of_a_file_before_it_gets_its_name(self, monkeypatch, source, folder):
        events = []

        def fsync(number):
            time.sleep(0.3)
            real_sync(number)
            events.append("on disk")

        def put_in_place(*args):
            events.append("named")
            return real_put(*args)

        real_sync, real_put = os.fsync, atomic.put_in_place
        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(atomic, "put_in_place", put_in_place)
        unparallel.convert(source, folder / "clean.h5", overwrite=True)
        assert events == ["on disk", "named", "on disk"]  # and then the folder

    def test_truncate(self, monkeypatch, source, folder):
        self.sweep(monkeypatch, source, folder, "ftruncate", errno.EIO, 2)

    def test_open(self, monkeypatch, source, folder):
        monkeypatch.setattr(disk.os, "open", self.broken(errno.EROFS))
        fails(source, folder, "cannot write: Read-only file system")

    def test_replace(self, monkeypatch, source, folder):
        monkeypatch.setattr(os, "replace", self.broken(errno.EIO))
        fails(source, folder, "cannot write: Input/output error")

    def test_a_short_write_is_continued(self, monkeypatch, source, folder):
        real = os.write
        monkeypatch.setattr(disk.os, "write", lambda number, data: real(number, data[: max(1, len(data) // 2)]))
        assert unparallel.convert(source, folder / "clean.h5", overwrite=True).verified

    def test_a_folder_that_is_not_synced_is_told(self, monkeypatch, source, folder):
        real = os.fsync

        def fsync(number):
            if stat.S_ISDIR(os.fstat(number).st_mode):
                raise OSError(errno.EIO, "")
            real(number)

        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(WriteError, match="written, but the disk did not confirm it"):
            unparallel.convert(source, folder / "clean.h5", overwrite=True)
        assert (folder / "clean.h5").read_bytes()[:8] == hdf5.SIGNATURE

    def test_a_file_system_that_syncs_no_folders_will_do(self, monkeypatch, source, folder):
        real = os.fsync

        def fsync(number):
            if stat.S_ISDIR(os.fstat(number).st_mode):
                raise OSError(errno.EINVAL, "")
            real(number)

        monkeypatch.setattr(os, "fsync", fsync)
        assert unparallel.convert(source, folder / "clean.h5", overwrite=True).verified

    def test_a_file_system_without_hard_links_will_do(self, monkeypatch, source, tmp_path):
        monkeypatch.setattr(os, "link", self.broken(errno.EPERM))
        assert unparallel.convert(source, tmp_path / "clean.h5").verified
        with pytest.raises(TargetExistsError):
            unparallel.convert(source, tmp_path / "clean.h5")
        assert sorted(os.listdir(str(tmp_path))) == ["clean.h5", "parallel.h5"]

    def broken(self, number):
        def call(*args, **kwargs):
            raise OSError(number, os.strerror(number))

        return call


SWEEP = """
import os, resource, sys
import unparallel
from unparallel.errors import WriteError
source, folder = sys.argv[1:]
target = os.path.join(folder, "clean.h5")
whole = unparallel.convert(source, os.path.join(folder, "whole.h5")).bytes_after
os.unlink(os.path.join(folder, "whole.h5"))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
tried = 0
for limit in range(0, whole, max(1, whole // 40)):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        unparallel.convert(source, target, overwrite=True)
        raise SystemExit("no error with %d bytes" % limit)
    except WriteError as error:
        assert "File too large" in error.message, error.message
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(folder) == ["clean.h5"], os.listdir(folder)
    assert open(target, "rb").read() == b"what was there before"
    tried += 1
print("tried", tried)
"""


@pytest.mark.slow
@posix
def test_a_limit_at_every_size_of_the_file(source, folder):
    ran = run(source, folder, code=SWEEP)
    # HDF5 has the last word when the process ends: it must have nothing to say
    assert (ran.code, ran.err) == (0, "")
    assert int(ran.out.split()[1]) >= 40
    assert untouched(folder)


FULL = """
import os, sys
import unparallel
from unparallel.errors import WriteError
source, folder = sys.argv[1:]
target = os.path.join(folder, "clean.h5")
for free in range(0, 44, 4):
    room = os.statvfs(folder)
    with open(os.path.join(folder, "ballast"), "wb") as ballast:
        ballast.write(bytes(max(0, room.f_bavail * room.f_frsize - free * 1024)))
    try:
        done = unparallel.convert(source, target, overwrite=True)
        print("done", free)
        break
    except WriteError as error:
        assert "No space left on device" in error.message, error.message
        assert sorted(os.listdir(folder)) == ["ballast", "clean.h5"], os.listdir(folder)
        assert open(target, "rb").read() == b"what was there before"
        print("full", free)
    os.unlink(os.path.join(folder, "ballast"))
"""


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.call(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], stderr=subprocess.DEVNULL):
        pytest.skip("cannot mount here")
    yield place
    subprocess.check_call(["umount", str(place)])


@pytest.mark.slow
@root
def test_a_full_file_system(source, small_disk):
    (small_disk / "clean.h5").write_bytes(OLD)
    ran = run(source, small_disk, code=FULL)
    assert (ran.code, ran.err) == (0, "")
    said = [line.split()[0] for line in ran.out.splitlines()]
    assert said[-1] == "done"
    assert said.count("full") >= 3


@root
def test_a_read_only_file_system(source, small_disk):
    subprocess.check_call(["mount", "-o", "remount,ro", str(small_disk)])
    with pytest.raises(WriteError, match="cannot write: Read-only file system"):
        unparallel.convert(source, small_disk / "clean.h5")


NOBODY = """
import os, sys
import unparallel
source, folder = sys.argv[1:]
unparallel.convert(source, os.path.join(folder, "first.h5"))
unparallel.inspect(source)  # all modules are imported before they are out of reach
os.unlink(os.path.join(folder, "first.h5"))
os.chmod(folder, 0o555)
os.chmod(source, 0)
if os.geteuid() == 0:
    os.setuid(65534)
inspection = lambda: unparallel.inspect(source)
conversion = lambda: unparallel.convert(source + ".copy", folder + "/clean.h5")
for job in (inspection, conversion):
    try:
        job()
    except unparallel.UnparallelError as error:
        print(type(error).__name__, error.message, "|", error.hint)
"""


@pytest.mark.slow
@posix
def test_permissions(tmp_path, source):
    for place in [tmp_path, *tmp_path.parents]:
        if not os.stat(str(place)).st_mode & 0o001:
            os.chmod(str(place), os.stat(str(place)).st_mode | 0o055)
    (tmp_path / "parallel.h5.copy").write_bytes((tmp_path / "parallel.h5").read_bytes())
    (tmp_path / "out").mkdir()
    ran = run(source, tmp_path / "out", code=NOBODY)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "AccessDeniedError Permission denied | check the path and its permissions",
        "WriteDeniedError cannot write: no permission in %s | choose another folder" % (tmp_path / "out"),
    ]


# -- reading ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@injected
@pytest.mark.parametrize("words", [["-o", "clean.h5"], []])
def test_a_disk_that_cannot_be_read(tmp_path, source, words):
    # the libraries first, since the loader of shared libraries reads by the same call
    code = "import sys, h5py, networkx, unparallel.conversion, unparallel.slices\n" + inject.code("pread64", errno.EIO)
    ran = run(source, *words, code=code + "from unparallel.cli import main; sys.exit(main(sys.argv[1:]))", cwd=tmp_path)
    assert ran.code == 1
    assert "Input/output error" in ran.err
    assert [line.split(":")[0] for line in ran.err.splitlines()] == ["unparallel", "hint"]
    assert os.listdir(str(tmp_path)) == ["parallel.h5"]


@posix
def test_a_disk_that_fails_later(monkeypatch, source, folder):
    real, calls = os.pread, [0]

    def pread(*args):
        calls[0] += 1
        if calls[0] > 2:
            raise OSError(errno.EIO, "Input/output error")
        return real(*args)

    monkeypatch.setattr(os, "pread", pread)
    fails(source, folder, "Input/output error", FileError)


@pytest.mark.slow
@injected
def test_a_disk_that_cannot_be_synced(source, folder):
    code = "import sys, unparallel.conversion, unparallel.slices\n" + inject.code("fsync", errno.EIO)
    code += "from unparallel.cli import main; sys.exit(main(sys.argv[1:]))"
    ran = run(source, "-o", folder / "clean.h5", "--overwrite", code=code)
    assert ran.code == 1
    assert "cannot write: Input/output error" in ran.err
    assert untouched(folder)


@pytest.mark.slow
@injected
@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK, 524])
def test_a_file_system_without_locks(tmp_path, source, number):
    code = "import os, sys, unparallel.conversion, unparallel.slices\n" + inject.code("flock", number)
    code += "from unparallel.cli import main\n"
    code += "before = dict(os.environ); code = main(sys.argv[1:]); assert os.environ == before; sys.exit(code)"
    ran = run(source, "-o", tmp_path / "clean.h5", code=code)
    assert (ran.code, ran.err) == (0, "")


WRITER = """
import sys, h5py
with h5py.File(sys.argv[1], "r+", libver=sys.argv[2]) as handle:
    handle.attrs["busy"] = 1
    handle.flush()
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
@posix
def test_a_file_that_another_process_writes(tmp_path, source):
    writer = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", WRITER, source, "earliest"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert writer.stdout.readline().strip() == b"open"
        with pytest.raises(FileError, match="another process has the file open for writing") as caught:
            unparallel.convert(source, tmp_path / "clean.h5")
        assert "wait" in caught.value.hint
    finally:
        writer.communicate()
    assert unparallel.convert(source, tmp_path / "clean.h5").verified


@pytest.mark.slow
@posix
def test_a_file_whose_writer_crashed(tmp_path, source):
    path = str(tmp_path / "new.h5")
    code = "import os, h5py, sys; f = h5py.File(sys.argv[1], 'w', libver='latest'); f['a'] = 1; f.flush(); os._exit(0)"
    subprocess.check_call([sys.executable, "-W", "ignore", "-c", code, path])
    with pytest.raises(FileError, match="another process is writing the file, or crashed while it was") as caught:
        unparallel.inspect(path)
    assert "h5clear" in caught.value.hint


class TestTheSourceChanges:
    def changed(self, monkeypatch, source, folder, change):
        real = conversion._plan

        def plan(*args):
            change(source)
            return real(*args)

        monkeypatch.setattr(conversion, "_plan", plan)
        fails(source, folder, "parallel.h5: the file was changed while it was read", FileError)

    def test_appended_to(self, monkeypatch, source, folder):
        def append(path):
            with open(path, "ab") as handle:
                handle.write(b"more")

        self.changed(monkeypatch, source, folder, append)

    def test_written_in_place(self, monkeypatch, source, folder):
        def rewrite(path):
            time.sleep(0.02)  # two ticks of the clock that stamps files
            with open(path, "r+b") as handle:
                handle.seek(-1, os.SEEK_END)
                handle.write(b"x")

        self.changed(monkeypatch, source, folder, rewrite)

    @posix
    def test_replaced(self, monkeypatch, source, folder):
        def replace(path):
            with open(path, "rb") as old, open(path + ".new", "wb") as new:
                new.write(old.read())
            os.replace(path + ".new", path)

        self.changed(monkeypatch, source, folder, replace)

    @posix
    def test_deleted(self, monkeypatch, source, folder):
        self.changed(monkeypatch, source, folder, os.unlink)

    @posix
    def test_cut_short(self, monkeypatch, source, folder):
        self.changed(monkeypatch, source, folder, lambda path: os.truncate(path, 4000))


# -- targets ----------------------------------------------------------------------------------------------


def test_a_target_that_is_no_file(tmp_path, source):
    for path, says in ((str(tmp_path), "is a folder"), (os.devnull, "not a regular file")):
        if os.path.exists(path):
            with pytest.raises(FileError, match=says):
                unparallel.convert(source, path, overwrite=True)


@posix
def test_pipes_are_neither_read_nor_replaced(tmp_path, source):
    os.mkfifo(str(tmp_path / "pipe"))
    with pytest.raises(FileError, match="not a regular file"):
        unparallel.convert(source, tmp_path / "pipe", overwrite=True)
    with pytest.raises(NotKerasError, match="not a regular file"):
        unparallel.inspect(tmp_path / "pipe")


def test_there_is_no_folder(tmp_path, source):
    with pytest.raises(FileError, match="does not exist"):
        unparallel.convert(source, tmp_path / "none" / "clean.h5")


def test_a_path_with_a_nul(tmp_path, source):
    with pytest.raises(FileError, match="NUL"):
        unparallel.convert(source, str(tmp_path / "a\0b.h5"))
    with pytest.raises(FileError, match="NUL"):
        unparallel.inspect(str(tmp_path / "a\0b.h5"))


def test_paths_as_bytes(tmp_path, source):
    assert unparallel.convert(os.fsencode(source), os.fsencode(str(tmp_path / "clean.h5"))).verified


@posix
class TestLinks:
    def test_a_link_is_followed_and_stays(self, tmp_path, source, folder):
        os.symlink(str(folder / "clean.h5"), str(tmp_path / "link.h5"))
        with pytest.raises(TargetExistsError):
            unparallel.convert(source, tmp_path / "link.h5")
        assert untouched(folder)
        unparallel.convert(source, tmp_path / "link.h5", overwrite=True)
        assert os.path.islink(str(tmp_path / "link.h5"))
        assert os.listdir(str(folder)) == ["clean.h5"]
        assert (folder / "clean.h5").read_bytes()[:8] == hdf5.SIGNATURE

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_a_link_to_nothing(self, tmp_path, source, overwrite):
        os.symlink(str(tmp_path / "nothing"), str(tmp_path / "link.h5"))
        with pytest.raises(FileError, match="symbolic link to nothing"):
            unparallel.convert(source, tmp_path / "link.h5", overwrite=overwrite)

    @pytest.mark.parametrize("make", [os.symlink, os.link])
    def test_a_link_to_the_source(self, tmp_path, source, make):
        with open(source, "rb") as handle:
            before = handle.read()
        make(source, str(tmp_path / "link.h5"))
        with pytest.raises(FileError, match="the same file"):
            unparallel.convert(source, tmp_path / "link.h5", overwrite=True)
        with open(source, "rb") as handle:
            assert handle.read() == before


@posix
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_the_mode_follows_the_umask(tmp_path, source, mask):
    before = os.umask(mask)
    try:
        unparallel.convert(source, tmp_path / "clean.h5")
        with h5py.File(str(tmp_path / "like.h5"), "w"):
            pass
    finally:
        os.umask(before)
    mode = os.stat(str(tmp_path / "clean.h5")).st_mode & 0o777
    assert mode == 0o666 & ~mask == os.stat(str(tmp_path / "like.h5")).st_mode & 0o777


@posix
def test_a_file_that_is_replaced_keeps_its_mode(source, folder):
    os.chmod(str(folder / "clean.h5"), 0o600)
    unparallel.convert(source, folder / "clean.h5", overwrite=True)
    assert os.stat(str(folder / "clean.h5")).st_mode & 0o777 == 0o600


def test_the_longest_names(tmp_path, source):
    for name in ("n" * 252 + ".h5", "\u540d" * 84 + ".h5"):
        assert unparallel.convert(source, tmp_path / name).verified
    with pytest.raises(FileError, match="(too long|too large|cannot write)"):
        unparallel.convert(source, tmp_path / ("n" * 300 + ".h5"))


def test_a_target_that_appears_meanwhile_is_not_lost(monkeypatch, tmp_path, source):
    real = atomic.put_in_place

    def late(partial, target, overwrite):
        (tmp_path / "clean.h5").write_bytes(OLD)
        return real(partial, target, overwrite)

    monkeypatch.setattr(atomic, "put_in_place", late)
    with pytest.raises(TargetExistsError):
        unparallel.convert(source, tmp_path / "clean.h5")
    assert (tmp_path / "clean.h5").read_bytes() == OLD
    assert sorted(os.listdir(str(tmp_path))) == ["clean.h5", "parallel.h5"]


def test_what_was_written_is_damaged_on_the_way(monkeypatch, source, folder):
    real = disk.Disk.sync

    def sync(self):
        os.lseek(self._number, 0, os.SEEK_SET)
        os.write(self._number, b"\0" * 64)
        return real(self)

    monkeypatch.setattr(disk.Disk, "sync", sync)
    fails(source, folder, "cannot read again what was written", VerificationError)


# -- signals ----------------------------------------------------------------------------------------------

FOREVER = """
import signal, sys
from unparallel.cli import main
signal.signal(signal.SIGINT, signal.SIG_DFL)
words = [sys.argv[1], "-o", sys.argv[2], "--overwrite", "-q"]
main(words)
print("ready", flush=True)
while True:
    code = main(words)
    if code:
        sys.exit(code)
"""


@pytest.fixture
def large(tmp_path):
    return tiny.save(tmp_path / "large.h5", tiny.parallel(model(1200), 2))


@pytest.mark.slow
@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals_at_any_moment(tmp_path, large, folder, number):
    target = folder / "clean.h5"
    unparallel.convert(large, tmp_path / "right.h5")
    right = hashlib.sha1((tmp_path / "right.h5").read_bytes()).hexdigest()
    attempts = int(os.environ.get("UNPARALLEL_SIGNALS", 4))
    seed = int(os.environ.get("UNPARALLEL_SIGNALS_SEED", random.randrange(10**6)))
    chance = random.Random(seed)
    for _ in range(attempts):
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", FOREVER, large, str(target)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ, PYTHONPATH=ROOT),
            preexec_fn=trees.default_signals,
        )
        try:
            assert process.stdout.readline() == b"ready\n"
            moment = chance.random() * 0.15
            print(f"{signal.Signals(number).name} after {moment * 1000:.3f} ms, seed {seed}, of {attempts} attempts")
            time.sleep(moment)
            process.send_signal(number)
            _, said = process.communicate(timeout=20)
        finally:
            process.kill()
            process.communicate()
        assert hashlib.sha1(target.read_bytes()).hexdigest() == right
        left = os.listdir(str(folder))
        if number == signal.SIGKILL:
            assert process.returncode == -number
            for name in set(left) - {"clean.h5"}:
                assert name.endswith(".unparallel-part")
                (folder / name).unlink()
        else:
            # between two runs of the command, the signal ends the process
            assert (process.returncode, said) == (128 + number, b"unparallel: stopped\n") or process.returncode < 0
            assert left == ["clean.h5"]
