// Package schedule is the service of [schedule], [[crons]] and [[workers]]. The node that leads the scope of [schedule] gives
// each scheduled time its row and its job; one that leads a worker's post takes jobs and has them done; every node shows and
// changes crons and jobs.
//
//	config.go        the tables [schedule] and [[crons]]: keys, faults and remarks
//	service.go       the service, the declaration of its file, and the work of its role
//	workers.go       [[workers]], and the work of a post; runner_unix.go runs the commands of jobs
//	view.go          what callers see; api.go, api_jobs.go and api_dead.go serve it
//	command.go       conch crons; command_jobs.go and command_dead.go: conch jobs, conch dead
//	metrics.go       conch_schedule_*
//	upkeep.go        what the compaction deletes, and the aggregation reads and writes
//	doctor.go        what conch doctor finds
//
// # What can fail, and what happens
//
// While the database is away nothing is due; afterwards each cron's catch_up says what is done. A node whose file is not
// declared yet goes on trying, and leads meanwhile with the crons that count. Of two files of one version and different
// crons the nodes say so until they agree.
//
// Requirements F11, F12, F13.
package schedule
