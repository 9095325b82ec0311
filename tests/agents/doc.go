// Package agents runs the real command line agents of other programs against a scripted model on loopback, follows their logs
// with ctxfs, and compares what the model was sent with what the sessions have. `make agents` installs the agents from npm, at the
// versions and hashes of package-lock.json, and runs the tests.
package agents
