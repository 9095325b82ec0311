// Package metrics tells Prometheus what a mount and gc did: over HTTP at an address that only this host reaches, or in a file for
// node_exporter. All figures are totals: none names a user, an agent or a session.
package metrics
