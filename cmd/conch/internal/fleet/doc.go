// Package fleet runs nodes (package worker) as processes of their own, which die
// with whoever started them, and hears what they report.
package fleet
