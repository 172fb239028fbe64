// Package site has what the worlds of wings share that keep their state in a database, and in which one process leads: processes with clocks of
// their own that die and stand still; statements, any of which may be lost, or its answer; a database that is away, or out of a process's reach,
// and whose clock may be wrong; who leads, and who has which other scope for a [Term], with its lease and its act door; what goes wrong with all
// that at random; and the words by which a story says so.
//
// The world of a wing embeds a [Site]. Its own node embeds a [Node], and feeds the core that ships: by [Node.Ask] with answers, by an [Alarm]
// with the time. It adds the tables, what else may go wrong, and the judge. Package belfry of the schedule is such a world.
package site
