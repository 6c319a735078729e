package podinit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// buildRoot assembles the container's root on spec.Root and makes it the root
// of this mount namespace.
//
// The root is a tmpfs with one bind mount per top-level entry of the machine's
// root, rather than one bind mount of all of it: then a mount point that the
// machine lacks can be added without touching the machine (see mountPoint).
func buildRoot(spec Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	root := spec.Root
	if err := mountTmpfs(root, 0, "mode=0755"); err != nil {
		return err
	}
	if err := mirror("/", root, ownedTopLevel()); err != nil {
		return err
	}
	if err := forgetVolumes(root); err != nil {
		return err
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", filepath.Join(root, "proc"), "proc", flags, ""); err != nil {
		return fmt.Errorf("mounting /proc "+
			"(a rehearsal cannot run in a container whose own /proc is masked): %w", err)
	}
	if err := buildDev(filepath.Join(root, "dev"), spec.Devices); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, "run/lock"), 0o755); err != nil {
		return err
	}
	for _, m := range spec.Mounts {
		if err := m.apply(root); err != nil {
			return fmt.Errorf("mounting %q: %w", m.Target, err)
		}
		if m.Kind != Bind || !m.ReadOnly {
			continue // only the machine's own folders can hold volumes of other pods
		}
		// At once: what a later mount covers can no longer be reached.
		if err := forgetVolumes(root); err != nil {
			return err
		}
	}
	for _, m := range spec.Volumes {
		if err := m.apply(root); err != nil {
			return fmt.Errorf("mounting volume at %q: %w", m.Target, err)
		}
	}
	return pivot(root)
}

// ownedTopLevel lists what of the machine's root a container never sees; it
// gets an empty folder of its own instead.
func ownedTopLevel() map[string]bool {
	return map[string]bool{"proc": true, "dev": true, "run": true, "tmp": true}
}

// mirror fills the folder dst with what src holds: folders and files as
// read-only bind mounts, links as links. Names in own become empty folders.
func mirror(src, dst string, own map[string]bool) error {
	entries, err := os.ReadDir(src)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		from, to := filepath.Join(src, entry.Name()), filepath.Join(dst, entry.Name())
		switch {
		case own[entry.Name()]:
			err = os.Mkdir(to, 0o755)
		case entry.Type()&os.ModeSymlink != 0:
			var link string
			if link, err = os.Readlink(from); err == nil {
				err = os.Symlink(link, to)
			}
		case entry.IsDir():
			err = errors.Join(os.Mkdir(to, 0o755), bind(from, to, true))
		case entry.Type().IsRegular():
			err = errors.Join(os.WriteFile(to, nil, 0o644), bind(from, to, true))
		}
		if err != nil {
			return fmt.Errorf("showing %q: %w", from, err)
		}
	}
	return nil
}

// forgetVolumes detaches the copies of other pods' memory volumes that came
// along with the folder they are mounted in: a copy would keep the memory
// allocated after its pod has ended.
func forgetVolumes(root string) error {
	table, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return err
	}
	for _, point := range volumeMounts(string(table), root+"/") {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("detaching %q: %w", point, err)
		}
	}
	return nil
}

// volumeMounts finds the mount points below prefix whose source is
// VolumeSource. In mountinfo (proc_pid_mountinfo(5)) the point is field 5, and
// type and source follow the field "-".
func volumeMounts(table, prefix string) []string {
	var points []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		if dash < 5 || len(fields) < dash+3 || fields[dash+2] != VolumeSource {
			continue
		}
		// The kernel writes space, tab, newline and backslash in octal.
		octal := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
		point := octal.Replace(fields[4])
		if strings.HasPrefix(point, prefix) {
			points = append(points, point)
		}
	}
	return points
}

func (m Mount) apply(root string) error {
	isDir := true
	if m.Kind == Bind {
		info, err := os.Stat(m.Source)
		if err != nil {
			return err
		}
		isDir = info.IsDir()
	}
	target, err := mountPoint(root, m.Target, isDir)
	if err != nil {
		return err
	}
	if m.Kind == Tmpfs {
		return mountTmpfs(target, m.SizeBytes, "mode=1777")
	}
	return bind(m.Source, target, m.ReadOnly)
}

// mountPoint finds or makes the place for a mount and returns its path under
// root. Where a folder of the machine lacks the next name, a tmpfs that mirrors
// the folder takes its place, and the name is made in there.
func mountPoint(root, target string, isDir bool) (string, error) {
	path, rest := root, strings.Split(strings.Trim(filepath.Clean(target), "/"), "/")
	for hops := 0; len(rest) > 0; {
		next := filepath.Join(path, rest[0])
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, os.ErrNotExist):
			if err := addName(path, next, isDir || len(rest) > 1); err != nil {
				return "", err
			}
		case err != nil:
			return "", err
		case info.Mode()&os.ModeSymlink != 0:
			if hops++; hops > 40 {
				return "", fmt.Errorf("too many links in %q", target)
			}
			link, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			// A link is the container's, so it starts from the container's root.
			base := strings.TrimPrefix(path, root)
			if filepath.IsAbs(link) {
				base = "/"
			}
			whole := filepath.Join(append([]string{"/", base, link}, rest[1:]...)...)
			path, rest = root, strings.Split(strings.Trim(whole, "/"), "/")
			continue
		}
		path, rest = next, rest[1:]
	}
	return path, nil
}

// addName makes a file or folder, putting a mirror over its parent if that is
// the machine's and so read-only.
func addName(parent, path string, isDir bool) error {
	create := func() error {
		if isDir {
			return os.Mkdir(path, 0o755)
		}
		return os.WriteFile(path, nil, 0o644)
	}
	err := create()
	if !errors.Is(err, unix.EROFS) {
		return err
	}
	// The tmpfs hides the parent, so the parent's content is reached through a
	// descriptor that was opened before.
	original, err := os.Open(parent)
	if err != nil {
		return err
	}
	defer original.Close()
	if err := mountTmpfs(parent, 0, "mode=0755"); err != nil {
		return err
	}
	if err := mirror(fmt.Sprintf("/proc/self/fd/%d", original.Fd()), parent, nil); err != nil {
		return err
	}
	return create()
}

// buildDev makes /dev of what is always there. Device nodes cannot be made in a
// user namespace, so the machine's are bound.
func buildDev(dev string, devices []string) error {
	if err := mountTmpfs(dev, 0, "mode=0755"); err != nil {
		return err
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if _, err := os.Stat(filepath.Join("/dev", name)); errors.Is(err, os.ErrNotExist) {
			continue // a machine without terminals has no /dev/tty
		}
		node := filepath.Join(dev, name)
		if err := os.WriteFile(node, nil, 0o666); err != nil {
			return err
		}
		if err := bind(filepath.Join("/dev", name), node, false); err != nil {
			return err
		}
	}
	links := map[string]string{
		"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx",
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	for _, folder := range []string{"pts", "shm"} {
		if err := os.Mkdir(filepath.Join(dev, folder), 0o755); err != nil {
			return err
		}
	}
	const flags, options = unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"
	if err := unix.Mount("devpts", filepath.Join(dev, "pts"), "devpts", flags, options); err != nil {
		return fmt.Errorf("mounting /dev/pts: %w", err)
	}
	// 64 MiB is what container runtimes give when the pod mounts nothing there.
	if err := mountTmpfs(filepath.Join(dev, "shm"), 64<<20, "mode=1777"); err != nil {
		return err
	}
	for _, device := range devices {
		file := filepath.Join(dev, device)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	// Old and new root on the same folder: the old one ends up on top and is
	// detached, with every mount of the machine that no bind holds on to.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detaching the machine's root: %w", err)
	}
	return os.Chdir("/")
}

func bind(from, to string, readOnly bool) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("binding %q: %w", from, err)
	}
	if !readOnly {
		return nil
	}
	// A plain remount would have to repeat the flags that a user namespace may
	// not clear, and would miss the mounts below; this adds one flag to all.
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, to, unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("making %q read-only: %w", to, err)
	}
	return nil
}

func mountTmpfs(target string, sizeBytes int64, options string) error {
	if sizeBytes > 0 {
		options += ",size=" + strconv.FormatInt(sizeBytes, 10)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("raytrain", target, "tmpfs", flags, options); err != nil {
		return fmt.Errorf("mounting a memory file system: %w", err)
	}
	return nil
}
