// Package supervise keeps a mount alive across the death of the process that serves it. The supervisor mounts, and holds
// /dev/fuse and a few other files; a worker serves them. When the worker dies, the next one is handed the same files, and
// the kernel waits for it: nobody who uses the mount sees more than a pause. A supervisor has nothing else to do, and so
// little that it could die of; without a worker's word or a signal it does not wake up.
//
// The two speak over a socket pair, in messages of one line, with at most one file each. The end of the socket tells each
// of the other's death: a process whose last thread waits for its own mount cannot be waited for, but its files are closed.
package supervise
