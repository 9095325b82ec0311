// Package fault fails the program's system calls one by one, at each place that makes them (TestEverySyscall), and cuts its power
// at each point of what it wrote (TestPowerLoss), and holds what is left to the promise of docs/reliability.md.
//
// Both have the same work done (work, in a world) on the same store (makeTemplate), by writers that note what they were told
// (ledger). A process of its own (tracer) fails its calls (injector) or writes them down (recorder). What was written down
// (film) is played on a model of a disk (disk), which tells what a crash can leave (loss).
package fault
