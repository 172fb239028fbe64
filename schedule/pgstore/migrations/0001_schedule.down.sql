DROP FUNCTION conch.cron_move, conch.cron_run(bigint, timestamptz, int, timestamptz, jsonb, bigint, text, bigint),
    conch.cron_revise(text, jsonb, boolean, boolean, text), conch.dead_step(uuid, int), conch.job_cancel(bigint, text), conch.job_progress(bigint[], int[], text[]),
    conch.job_end(bigint[], int[], text[], text[], json[], float8[]), conch.job_again(bigint, int, text, text, interval),
    conch.job_hold(bigint, int), conch.job_done(bigint, int, json), conch.job_leave(bigint),
    conch.job_take, conch.job_add(text, text, json, timestamptz, int, text, text, int, interval, boolean),
    conch.job_enter(bigint, int, text, timestamptz, int), conch.job_start(bigint, int, timestamptz, timestamptz), conch.job_word(text, timestamptz), conch.job_wait(int), conch.job_kind(jsonb), conch.job_legible(text),
    conch.schedule_trim(timestamptz, bigint, int), conch.schedule_look(bigint), conch.schedule_here();
DROP TABLE conch.job_operated, conch.job_operations, conch.job_dead, conch.job_attempts, conch.job_taken, conch.job_keys, conch.job_waiting,
    conch.job_lanes, conch.job_later, conch.job_ready, conch.jobs, conch.cron_gaps, conch.cron_runs, conch.schedule_server, conch.cron_file, conch.cron_revisions, conch.crons;
DROP DOMAIN conch.job_queue, conch.job_handler, conch.job_label, conch.job_timeout, conch.job_args, conch.job_priority, conch.job_retries, conch.job_result;
DROP FUNCTION conch.sample_put(interval, interval, timestamptz, bigint, text[], jsonb[], float8[], int);
DROP TABLE conch.sample;
