// Package pgstore keeps crons and jobs in Postgres. Its tables are in the schema conch, beside the leadership whose token fences what a leader
// or a worker writes.
//
// # Crons
//
// A write of the leader is one round trip and one transaction: the moves of its crons, with rows and jobs, and conch.fence. A move is carried out
// only if its cron stands where the leader believes, and none of its times lies ahead of now(). The key of conch.cron_runs makes it one row for each
// time, the fence makes it the leader's. Times that are passed over are in conch.cron_gaps.
//
// # Jobs
//
// Anybody adds a job in a transaction of his own:
//
//	SELECT conch.job_add('mail', 'welcome', '{"to": "a@example.com"}');
//
// A job that has to run one at a time with others names their lane; one that must not be there twice names a key, which it holds until it has
// ended. A [schedule.Worker] takes jobs by [Store.Take], fenced by the token of its post: a scope that it leads. The rows of a take count once its commit is confirmed,
// so that no handler ends what is not taken yet. A handler that works on this database ends its job in the transaction that has its effect:
//
//	BEGIN; UPDATE …; SELECT conch.job_done(17, 1); COMMIT;
//
// which fails with CN021 if the attempt is over, so that a worker that was frozen undoes its effect. conch.job_hold proves the attempt in a transaction
// that does not end it. [Store.Tell] ends attempts as their worker says: a job is done, comes again after a pause, or is dead; [Store.Operate] retries or discards
// many dead jobs, each once, however often the command is given again.
//
// An attempt counts when it is taken. A job whose worker dies stays taken until the worker that gets its post gives it back.
//
// # Slots
//
// Programs that several machines call at the same times, as from their crontabs, need no cron here: the one that leads the scope of the program calls
// [Store.BeginSlot], which takes a slot of time for it unless the last one was taken less than nine tenths of a slot ago, and [Store.EndSlot] when it is
// done. The row of the scope in conch.slots says who has the slot.
//
// # Samples
//
// One leader writes figures of the whole cluster once in each slot of time by [Store.PutSamples], which deletes what is too old, too. Programs add their own by
// an INSERT into conch.sample. The newest sample is the one with the highest id.
package pgstore
