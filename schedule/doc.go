// Package schedule runs crons, each scheduled time once, while one process of several leads; and jobs, by workers of which each leads a scope of its
// own, its post. It knows gates and nothing of elections.
//
//	store, err := pgstore.Open(ctx, pgstore.Connection{URL: url}, 4) // package schedule/pgstore; `conch migrate up` makes its tables
//	s, err := schedule.New(schedule.Config{Version: 1, Node: "node-1", Crons: []schedule.Cron{{
//		Name: "report", Schedule: "0 9 * * MON-FRI", Timezone: "Europe/Berlin", Job: "report",
//
// //	}}}, store)
//
//	w, err := schedule.NewWorker(schedule.WorkerConfig{Handlers: map[string]schedule.Handler{
//		"report": func(ctx context.Context, t *schedule.Task) ([]byte, error) { return nil, report(ctx, t.At) },
//	}}, store)
//	err = store.Check(ctx) // says what to do if the tables are missing
//	err = s.Declare(ctx)   // each process, when it starts
//	…
//	roles := []election.Role{ // of an elector: one process leads each
//		{Scope: "scheduler", Fenced: func(ctx context.Context, l election.Leadership) error { return s.Lead(ctx, l.Gate) }},
//		{Scope: "worker/1", Fenced: func(ctx context.Context, l election.Leadership) error { return w.Run(ctx, l.Gate) }},
//	}
//
// The folder examples/reports of the repository has it as a whole program.
//
// # Words
//
//   - A [Cron] is what is done, and when: a schedule in the wall clock of a zone, a handler, and what is done about times that were
//     missed or that overlap. Package zone says which instants a schedule means.
//   - A revision is one definition of a cron, from an instant on. Nobody changes a revision; who changes, pauses or retires a cron adds one.
//     Only the leader adopts it, once what the one before owes up to that instant is settled.
//   - A [Run] is a scheduled time that has its row, with a job or without one. A [Gap] is times that are passed over, and why.
//   - An attempt is a job and a number, and begins when a worker takes the job. No two attempts have the same one.
//   - The cursor of a cron is up to where its times are settled. The floor is up to where its rows were deleted; the cursor never goes below.
//
// # Promises
//
// The key makes it one row, the fence makes it the leader's: the row of a scheduled time has the key (cron, time), and it is written in
// one transaction with its job, the cursor and the fence. What is due follows from the cursor that is stored, so a new leader goes on where the
// last one has ended, after however long. Times are compared with the database's clock alone, in the statement that writes.
//
// # When something fails
//
//	the leader dies before, in or after a write    nothing, nothing, or all is written; the next leader reads the cursor
//	it freezes and wakes up                        the fence refuses its token: nothing is written, and Lead ends
//	a write has no answer                          its crons are read again
//	the database is away                           nothing is due; then as the cron's CatchUp says
//	the database's clock was an hour ahead         times of that hour have come early, and come once; none is silent for longer than a minute
//	a worker dies                                  the next one that leads its post gives back what it had taken
//	it freezes and wakes up                        its commands are dead, and what it tells of its attempts is refused
//	a node does not know a zone                    the cron is not run while that node leads, and it says so
//
// # What the caller owes
//
// A [Store] whose statements are one transaction each, with the fence last. A call of [Scheduler.Changed] when a revision is written saves up to
// 30 seconds; nothing depends on it.
package schedule
