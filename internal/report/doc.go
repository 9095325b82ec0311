// Package report tells the story of a session's context windows as one page of HTML that needs nothing beside it: how full the window was
// at each step, what entered and left it and why, what tool outputs would have taken, and when it was compacted. It is pure: the same
// log and packs give the same bytes.
package report
