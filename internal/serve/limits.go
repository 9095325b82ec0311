package serve

import "time"

// Limits keep one user from using up the daemon.
type Limits struct {
	Conns       int           // connections of all users
	ConnsPerUID int           // connections of one user
	Jobs        int           // of one connection: runs that it waits for, resumes and follows
	Runs        int           // in progress of one agent process
	QueueFrames int           // frames that wait to be read, a connection
	QueueBytes  int           // the same in bytes
	Stall       time.Duration // a peer that reads nothing for so long, while frames wait, is dropped
	TempBytes   int           // of one temporary session
	TempPerUID  int           // temporary sessions of one user
	Text        int           // of an answer, in bytes
}

// DefaultLimits are those of a mount.
func DefaultLimits() Limits {
	return Limits{Conns: 1024, ConnsPerUID: 64, Jobs: 64, Runs: 256, QueueFrames: 1024, QueueBytes: 4 << 20,
		Stall: 30 * time.Second, TempBytes: 16 << 20, TempPerUID: 64, Text: 16 << 20}
}

// skipLimit is how much of one overlong frame is read past, in bytes, before the peer is dropped.
const skipLimit = 16 << 20
