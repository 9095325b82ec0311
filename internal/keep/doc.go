// Package keep is what a mount knows beside its store, in memory that outlives the process that serves it: which files are
// open and what they show, how far each writer's line is, which requests were carried out. The memory is a memfd; whoever
// holds it across a crash (package supervise) hands it to the next process, which goes on with it.
//
// The truth is in slots of fixed size. Bytes of any length stand in an arena, and the slots say where: what no slot names is
// free, so that the allocator needs no state that a crash could tear. A slot counts once its state says so, by one atomic
// store after the others; a process that is killed leaves either the slot of before or that of after.
package keep
