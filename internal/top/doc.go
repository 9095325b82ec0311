// Package top looks at the sessions of a mount again and again, as its user, and tells what they do: how full their windows are, how
// fast their logs grow, whether their packs stand ready. It asks closely only about sessions that changed and those that somebody
// sees, opens no log, and has nothing built: what is looked at goes on resting.
package top
