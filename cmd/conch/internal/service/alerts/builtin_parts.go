package alerts

import (
	"time"

	"github.com/conchhq/conch/alerts"
)

// ofParts are the alerts about overlays, logs, jobs and crons.
func ofParts() []Alert { //nolint:funlen // a table
	return []Alert{
		{
			Name: "ConchGossipAlone", Severity: warning, For: 5 * time.Minute, EachNode: true,
			Condition:   `conch_gossip_neighbours == 0`,
			Annotations: says(`{{ $labels.instance }} has no neighbour in its overlay`, `conch doctor --config says which of its peers do not answer, and why.`),
			comment:     `A node of an overlay hears nobody, so it suggests itself or nobody.`,
			more:        "[its page](gossip.md#when-something-is-wrong); no leadership depends on it",
		},
		{
			Name: "ConchGossipDiffers", Severity: warning, For: 5 * time.Minute,
			Condition:   `max(conch_gossip_neighbours_differing) > 0`,
			Annotations: says(`nodes of an overlay have different values in [gossip]`, `conch status --gossip names the neighbours and the keys.`),
			comment:     `Nodes of one overlay are configured differently, and understand each other wrongly.`,
			more:        "[its page](gossip.md#when-something-is-wrong); no leadership depends on it",
		},
		{
			Name: "ConchLogStands", Severity: critical, For: 30 * time.Second,
			Condition:   `sum by (namespace) (conch_log_is_leader) == 0 and max by (namespace) (conch_log_members) > 0`,
			Annotations: says(`nobody leads the log {{ $labels.namespace }}`, `conch status --logs on a member says how many of them answer, and what to do.`),
			comment:     `A log has no majority of its members, so nothing is committed. Its copies can be read.`,
			more:        "[its page](log.md#when-something-happens); no leadership depends on it",
		},
		{
			Name: "ConchLogStoreFailed", Severity: critical, EachNode: true,
			Condition:   `max by (instance, namespace) (conch_log_store_failed) > 0`,
			Annotations: says(`the disk of the log {{ $labels.namespace }} has failed on {{ $labels.instance }}`, `conch status --logs there says why. Make room or mend the disk, and start that node again: it comes back as the member that it was.`),
			comment:     `The disk of a log is full or fails: this node takes no part in that log any more. The others go on while they are a majority.`,
			more:        "[its page](log.md#when-something-happens)",
		},
		{
			Name: "ConchLogBehind", Severity: warning, EachNode: true,
			Condition:   `min_over_time(conch_log_behind[5m]) > 0`,
			Annotations: says(`{{ $labels.instance }} lacks {{ $value }} entries of the log {{ $labels.namespace }}`, `conch status --logs says what it waits for, and its log whom it asks and what it refuses.`),
			comment:     `A copy of a log does not come on: what it answers is old.`,
			more:        "[its page](log.md#when-something-happens); no leadership depends on it",
		},
		{
			Name: "ConchJobsWait", Severity: warning, For: time.Minute,
			Condition:   `max by (queue) (conch_schedule_oldest_ready_seconds) > 300`,
			Annotations: says(`a job of the queue {{ $labels.queue }} has been waiting for a worker for {{ $value }} s`, `Does a worker serve the queue? conch jobs list --state ready --queue {{ $labels.queue }} shows what waits, and --state taken what the workers have.`),
			comment:     `No worker takes the jobs of a queue, or too few do.`,
			more:        "too few [workers](schedule.md) serve the queue",
		},
		{
			Name: "ConchJobsDead", Severity: warning,
			Condition:   `max by (queue) (conch_schedule_jobs{state="dead"}) > 0`,
			Annotations: says(`{{ $value }} jobs of the queue {{ $labels.queue }} are dead`, `conch dead list says why; conch dead retry or conch dead discard ends it.`),
			comment:     `Jobs have failed as often as they may: nobody does them.`,
			more:        "[dead jobs](schedule.md#dead-jobs)",
		},
		{
			Name: "ConchJobsHeld", Severity: critical,
			Condition:   `max(conch_schedule_jobs_held) > 0`,
			Annotations: says(`the database was restored, and no job is taken`, `Look at conch jobs list, cancel what is not to be done again, then say conch jobs release (docs/schedule.md, After a restore).`),
			comment:     `The database was restored, and workers wait until somebody has looked at what a backup has as still to be done.`,
			more:        "[a restore of the database](schedule.md#after-a-restore)",
		},
		{
			Name: "ConchCronSkipped", Severity: warning,
			Condition:   `max by (cron) (conch_schedule_skipped_in_a_row) >= 3`,
			Annotations: says(`the cron {{ $labels.cron }} was skipped {{ $value }} times running`, `conch crons show {{ $labels.cron }} names the job that has not ended.`),
			comment:     `A cron's job takes longer than the time between two, or hangs.`,
			more:        "its job takes too long, or hangs until its `timeout`",
		},
		{
			Name: "ConchScheduleStuck", Severity: critical, For: time.Minute,
			Condition:   `max by (instance) (conch_schedule_stuck) > 0`,
			Annotations: says(`crons or jobs of {{ $labels.instance }} wait for the database`, `Its log says what was asked and why that failed (CRONS OR JOBS WAIT); conch doctor names locks and privileges.`),
			comment:     `The database does not do what the leader of the crons, or a worker, asks: a lock, a privilege that is missing, a server that is away.`,
			more:        "a lock, a privilege that is missing, or a server that is away",
		},
		{
			Name: "ConchCronFilesDiffer", Severity: warning, For: 5 * time.Minute,
			Condition:   `max by (instance) (conch_schedule_files_differ) > 0`,
			Annotations: says(`{{ $labels.instance }} and another node have different crons under one version`, `The logs of both name the other one. Give both files the same crons, or the right one a higher [schedule] version.`),
			comment:     `Which crons run depends on which node has read its file last.`,
			more:        "two files with one [version](schedule.md)",
		},
		{
			Name: "ConchLogForked", Severity: critical,
			Condition:   `max by (namespace) (increase(conch_log_forks_total[1h])) > 0`,
			Annotations: says(`two signed heads of the log {{ $labels.namespace }} contradict each other`, `conch log status names both members and the entry; conch log verify shows where the copies part. docs/log.md (A store that was restored) has what to do.`),
			comment:     `Two members have signed what cannot both be true: a store was restored from a backup, or one of them lies.`,
			more:        "[its page](log.md#a-store-that-was-restored); no leadership depends on it",
		},
	}
}

// ofAlerts are those about alerts themselves, which no condition can say. A Prometheus has others for them.
func ofAlerts() []Alert {
	return []Alert{
		{
			Name: alerts.AwayRule, Severity: critical, judged: true,
			Annotations: says(`a node cannot ask the database`, `The log of the node that cannot gives the reason; run conch doctor there. It is over when all nodes can ask it again, or are gone for ten minutes.`),
			more:        "[its page](alerts.md#who-is-told)",
		},
		{
			Name: alerts.IdleRule, Severity: critical, judged: true,
			Annotations: says(`nobody evaluates the alerts of this cluster`, `conch status says who leads the scope conch:alerts, or why nobody does.`),
			more:        "nobody leads `conch:alerts`",
		},
		{
			Name: alerts.DifferRule, Severity: warning, judged: true, For: 5 * time.Minute,
			Annotations: says(`{{ $labels.node }} has other alerts or receivers than the node that evaluates them`, `Give all nodes the same [[alerts]], [[notify]] and [alerting]. Until then nothing of what differs begins or ends.`),
			more:        "their files differ",
		},
		{
			Name: alerts.NoDataRule, Severity: warning, judged: true, For: 15 * time.Minute, EachNode: true,
			Annotations: says(`the alert {{ $labels.rule }} cannot be judged`, `Nothing is told of what its condition names any more, or it cannot be evaluated: the page of alerts says which. What of it fires goes on.`),
			more:        "[nothing tells of it](alerts.md#conditions) any more",
		},
	}
}
