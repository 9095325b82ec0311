package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"ctxfs/internal/mounts"
)

// cgroup is where a process is in the unified hierarchy (cgroups(7)), by its file in /proc; "" when it is not to be seen.
func cgroup(file string) string {
	data, err := os.ReadFile(file) // #nosec G304 -- of the kernel's
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(data), "\n") {
		if path, found := strings.CutPrefix(line, "0::"); found {
			return path
		}
	}
	return ""
}

// show asks systemd for properties of a unit; user is for the caller's own systemd. nil: there is no answer.
func show(user bool, unit string) map[string]string {
	ctx, cancel := context.WithTimeout(context.Background(), answerWait)
	defer cancel()
	args := []string{"show", "-p", "LoadState,ActiveState,SubState,Result,UnitFileState,Restart,FileDescriptorStoreMax,NFileDescriptorStore", "--", unit}
	if user {
		args = append([]string{"--user"}, args...)
	}
	out, err := exec.CommandContext(ctx, "systemctl", args...).Output() // #nosec G204 -- a unit that the kernel names
	if err != nil {
		return nil
	}
	kv := map[string]string{}
	for _, line := range strings.Split(string(out), "\n") {
		if k, v, found := strings.Cut(line, "="); found {
			kv[k] = v
		}
	}
	return kv
}

// service looks whether the daemon is systemd's, and whether that holds its descriptors: then it is not missed when it dies.
func (h *Host) service(m asked) []Finding {
	path := cgroup(m.proc("pid", "cgroup"))
	unit := filepath.Base(path)
	if !h.Systemd || !strings.HasSuffix(unit, ".service") || strings.HasPrefix(unit, "user@") {
		return ok("%s is not systemd's: ctxfs mount serves it again if it dies", m.Point)
	}
	user := strings.Contains(path, "/user@")
	if user && m.UID != h.UID { // one's own systemd would be asked
		return ok("%s is of user %d's %s", m.Point, m.UID, unit)
	}
	kv := show(user, unit)
	most, _ := strconv.Atoi(kv["FileDescriptorStoreMax"]) // 0 where there is none
	held, _ := strconv.Atoi(kv["NFileDescriptorStore"])
	edit := "systemctl edit -- " + mounts.Quote(unit)
	if user {
		edit = "systemctl --user edit -- " + mounts.Quote(unit)
	}
	switch {
	case kv == nil:
		return ok("%s is of %s, and systemd does not say more", m.Point, unit)
	case kv["LoadState"] != "loaded" || !strings.Contains(unit, "ctxfs"): // started by hand within another service
		return ok("%s runs within %s", m.Point, unit)
	case most == 0:
		return warn(edit+" (FileDescriptorStoreMax=256)", "%s: systemd holds no descriptors of %s: a supervisor that dies takes the mount with it", m.Point, unit)
	case held == 0:
		return warn("systemctl restart -- "+mounts.Quote(unit), "%s: systemd holds nothing of %s yet", m.Point, unit)
	case kv["Restart"] == "no":
		return warn(edit+" (Restart=on-failure)", "%s: %s is not started again when it fails", m.Point, unit)
	}
	return ok("%s: %s is active, systemd holds %d descriptors", m.Point, unit, held)
}

// either returns the mend for a host with systemd, or the one for a host without.
func (h *Host) either(with, without string) string {
	if h.Systemd {
		return with
	}
	return without
}

// unit looks at the host's service where nothing of it is mounted.
func (h *Host) unit() []Finding {
	if !h.Systemd {
		return ok("no systemd here")
	}
	kv := show(false, "ctxfs.service")
	switch {
	case kv == nil || kv["LoadState"] != "loaded":
		return ok("ctxfs.service is not installed")
	case kv["ActiveState"] == "failed" || kv["SubState"] == "auto-restart": // which will fail again
		return fail("journalctl -u ctxfs -n 20; systemctl restart ctxfs", "ctxfs.service failed (%s)", kv["Result"])
	case kv["UnitFileState"] == "enabled" && kv["ActiveState"] == "inactive":
		return warn("systemctl start ctxfs", "ctxfs.service is enabled, and does not run")
	}
	return ok("ctxfs.service is %s, %s", kv["UnitFileState"], kv["ActiveState"])
}

// leastMemory is what temporary sessions of one user may take alone.
const leastMemory = 256 << 20

// memory looks at what the daemon's cgroup may have, and whether the kernel had to kill for it.
func (h *Host) memory(m asked) []Finding {
	path := cgroup(m.proc("worker", "cgroup"))
	if path == "" {
		return ok("%s: the limits of its daemon are not to be seen", m.Point)
	}
	return h.memoryOf(m.Point, "/sys/fs/cgroup", path)
}

// memoryOf looks at a cgroup and those that it is in, in the hierarchy at root.
func (h *Host) memoryOf(point, root, path string) []Finding {
	for dir := filepath.Join(root, path); len(dir) >= len(root); dir = filepath.Dir(dir) {
		if n := killed(dir); n > 0 {
			return warn(h.either("MemoryMax= in the unit", "give that cgroup more (of a container: docker run --memory)"), "%s: the kernel killed %d processes for the limit of %s", point, n, dir)
		}
		limit, err := os.ReadFile(filepath.Join(dir, "memory.max")) // #nosec G304 -- of the kernel's
		if n, nerr := strconv.ParseUint(strings.TrimSpace(string(limit)), 10, 64); err == nil && nerr == nil && n < leastMemory {
			return warn(h.either("MemoryMax=1G in the unit", "give that cgroup 1 GiB (of a container: docker run --memory 1g)"), "%s: its daemon may have only %s of memory; temporary sessions of one user may take %s", point, size(n), size(leastMemory))
		}
	}
	return ok("%s: memory is enough", point)
}

// killed is how many processes of a cgroup were killed for its own limit.
func killed(dir string) int {
	data, err := os.ReadFile(filepath.Join(dir, "memory.events.local")) // #nosec G304 -- of the kernel's
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(data), "\n") {
		if text, found := strings.CutPrefix(line, "oom_kill "); found {
			n, _ := strconv.Atoi(text) // the kernel's own
			return n
		}
	}
	return 0
}
