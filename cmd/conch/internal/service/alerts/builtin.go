package alerts

import (
	"slices"
	"time"
)

// The severities that order what is told.
const (
	critical = "critical" // somebody has to get up
	warning  = "warning"  // somebody has to look, in working hours
	info     = "info"
)

// says makes the annotations of a built-in alert.
func says(summary, description string) map[string]string {
	all := map[string]string{"summary": summary}
	if description != "" {
		all["description"] = description
	}
	return all
}

// Builtin returns the alerts that every cluster has, in the order of deploy/alerts.yaml, which is made of them (TestExport writes it). Their
// limits fit a lease of three seconds.
func Builtin() []Alert {
	all := slices.Concat(ofLeaders(), ofParts(), ofAlerts())
	for i := range all {
		all[i].builtin = true
	}
	return all
}

// ofLeaders are the alerts about leaders, nodes, transactions, contracts, files and certificates.
func ofLeaders() []Alert { //nolint:funlen // a table
	return []Alert{
		{
			Name: "ConchNobodyLeads", Severity: critical, For: 30 * time.Second,
			Condition:   `sum by (scope) (conch_is_leader) == 0 or max by (scope) (conch_leaderless_seconds) > 0`,
			Annotations: says(`nobody leads {{ $labels.scope }}`, `conch status names the obstacle, and conch doctor the remedy: see 'nobody leads' in docs/operations.md.`),
			comment:     `No gate is open, or the candidates report that nobody leads the scope. For about a lease after a crash this is normal.`,
			more:        "[see above](#nobody-leads-what-now)",
		},
		{
			Name: "ConchDatabaseAway", Severity: warning, For: time.Minute,
			Condition:   `conch_database_up == 0`,
			Annotations: says(`the database does not answer {{ $labels.instance }}`, `The node's log gives the reason every ten seconds. Run conch doctor on that machine for more.`),
			comment:     `A node without a database cannot lead, whatever the other nodes do.`,
			more:        "the database, the network, or a password; its log says which",
		},
		{
			Name: "ConchRoleFails", Severity: warning,
			Condition:   `sum by (scope) (increase(conch_role_failures_total[10m])) > 2`,
			Annotations: says(`the role of {{ $labels.scope }} has failed {{ $value }} times in ten minutes`, `conch status gives the reason of the last failure, conch history --scope of each.`),
			comment:     `A node whose role fails at once is elected again and again, and looks like a leader.`,
			more:        "the command itself, or a node on which it cannot work: put that under `never`",
		},
		{
			Name: "ConchNobodyIsThere", Severity: critical, For: time.Minute,
			Condition:   `(group by (scope) (last_over_time(conch_is_leader[1h])) unless group by (scope) (conch_is_leader)) or absent(conch_is_leader)`,
			Annotations: says(`no node runs for {{ with $labels.scope }}{{ . }}{{ else }}any scope{{ end }}`, `All candidates have ended, or Prometheus reaches none of them: check the service, and the metric up.`),
			comment:     `All nodes of a scope are gone, and with them the series of ConchNobodyLeads. The first part fires for an hour after the last sample of a scope, the second for as long as there is no node at all. If you remove a scope on purpose, silence this alert for an hour.`,
			more:        "[see above](#nobody-leads-what-now)",
		},
		{
			Name: "ConchTwoLead", Severity: critical, For: time.Minute,
			Condition:   `sum by (scope) (conch_is_leader) > 1`,
			Annotations: says(`two processes report that they lead {{ $labels.scope }}`, `Do they use the same database? conch history shows the epochs; see docs/operations.md.`),
			comment:     `This should be impossible: at most one gate is open. At a handover two scrapes may show two for a moment, since they are of different instants.`,
			more:        "nodes on two databases, after a failover with the old primary alive",
		},
		{
			Name: "ConchHeartbeatLate", Severity: warning, For: 30 * time.Second,
			Condition:   `max by (scope) (conch_heartbeat_age_ms{scope!="conch:alerts"} and conch_is_leader == 1) > 1500`,
			Annotations: says(`the leader of {{ $labels.scope }} has not renewed its term for {{ $value }} ms`, `Check conch_heartbeat_update_ms, and the locks and the disk of the database.`),
			comment:     `The gate shuts after a lease less a tenth. Half a lease without a heartbeat means that the database or the network is slow. The lease under which alerts are evaluated is longer.`,
			more:        "a slow disk or standby, or a starved process; after two leases the leader gives way, as `overdue`",
		},
		{
			Name: "ConchFlapping", Severity: warning,
			Condition:   `sum by (scope) (increase(conch_leader_failovers_total[10m])) > 3`,
			Annotations: says(`{{ $labels.scope }} has changed hands {{ $value }} times in ten minutes without a release`, `conch history --scope gives a reason for each. Usually the lease is shorter than the pauses of the machine or the database.`),
			comment:     `The leadership moves although no operator asked for it and no role failed.`,
			more:        "[a lease](#the-lease) that is shorter than the pauses of a machine or the database",
		},
		{
			Name: "ConchNodeNotReady", Severity: warning, For: 2 * time.Minute,
			Condition:   `up == 0 and on (job, namespace, app_kubernetes_io_name) group by (job, namespace, app_kubernetes_io_name) (conch_is_leader)`,
			Annotations: says(`{{ $labels.instance }} is down and cannot take over`, ""),
			comment:     `A node that could not take over. The rule recognises a node by other nodes that answer and have the same job, and on Kubernetes, where one job scrapes all pods, the same namespace and the label of deploy/kubernetes.yaml. If your scrape configuration drops the labels of pods, name the job here.`,
			more:        "the node has ended or hangs, or is cut off",
		},
		{
			Name: "ConchAccountAlarm", Severity: critical, For: time.Minute,
			Condition:   `max by (account, cause) (conch_account_alarms) > 0`,
			Annotations: says(`account {{ $labels.account }}: {{ $labels.cause }}`, `The leader's log gives the reason, as the chain or the signer said it; conch doctor --config checks the whole account.`),
			comment:     `The transactions of an account are stuck until an operator acts: see "ALARM" in docs/transactions.md for the remedy of each cause.`,
			more:        "[transactions](transactions.md#watch)",
		},
		{
			Name: "ConchTransactionsWait", Severity: warning,
			Condition:   `max by (account) (min_over_time(conch_pending_transactions{state="queued"}[5m])) > 0`,
			Annotations: says(`{{ $value }} transactions of {{ $labels.account }} wait`, `See the leader's log, and run conch doctor --config.`),
			comment:     `Transactions are accepted, but get no nonce: the leader, its chain or its signer is down.`,
			more:        "[transactions](transactions.md#watch)",
		},
		{
			Name: "ConchWebhookFails", Severity: warning,
			Condition:   `max by (webhook) (conch_webhook_failing_seconds) > 600 or max by (webhook) (conch_webhook_behind_seconds) > 600`,
			Annotations: says(`the receiver {{ $labels.webhook }} was told of nothing for {{ $value }} s`, `conch webhooks list gives its last error. If there is none, nobody leads the scope webhooks.`),
			comment:     `A receiver of webhooks takes nothing, and its events wait: they are dead after three days.`,
			more:        "[webhooks](transactions.md#webhooks)",
		},
		{
			Name: "ConchWebhookDead", Severity: critical,
			Condition:   `max by (webhook) (conch_webhook_events{state="dead"}) > 0`,
			Annotations: says(`{{ $value }} events are dead for the receiver {{ $labels.webhook }}`, `conch webhooks list --dead gives the error of each; conch webhooks replay tells them again once the cause is mended.`),
			comment:     `Events that a receiver has refused for three days are told no more until somebody asks for it.`,
			more:        "[webhooks](transactions.md#webhooks)",
		},
		{
			Name: "ConchEntriesSkipped", Severity: warning, For: 5 * time.Minute,
			Condition:   `sum by (instance, contract) (increase(conch_sequencer_entries_total{end!="landed"}[5m])) > sum by (instance, contract) (increase(conch_sequencer_entries_total{end="landed"}[5m]))`,
			Annotations: says(`the ledger skips more of what {{ $labels.instance }} sends for the contract {{ $labels.contract }} than it takes`, `conch contract show there says why they are skipped: see 'Entries are skipped' in docs/contracts.md.`),
			comment:     `A coordinator of a private contract pays for entries that do not land: something is built on what cannot. A few are skipped after each fault, so only minutes of it are worth a look.`,
			more:        "[its page](contracts.md#entries-are-skipped): it costs gas and time, and nothing is carried out wrongly",
		},
		{
			Name: "ConchFilesBehind", Severity: warning, For: 5 * time.Minute,
			Condition:   `max by (scope, peer) (conch_files_behind) > 0`,
			Annotations: says(`{{ $labels.peer }} lacks some of the files of {{ $labels.scope }}`, `It does not answer, its disk is full, or it is not the node that the key peers names: the leader's log gives the reason.`),
			comment:     `The leader's files have fewer copies than they should.`,
			more:        "[files](files.md): the follower does not answer, or its disk is full",
		},
		{
			Name: "ConchLogUnread", Severity: warning, EachNode: true,
			Condition:   `increase(conch_lines_lost_total[15m]) > 0`,
			Annotations: says(`{{ $labels.instance }} writes a log that nobody reads, or for which there is no room`, `See what its stderr goes to: a pipe whose reader has ended or stopped, or a full disk.`),
			comment:     `Nobody reads the log of a process, or its disk is full. What it does goes on.`,
			more:        "the reader of a pipe has ended or stopped, or the disk is full; `conch doctor` cannot see this",
		},
		{
			Name: "ConchCertificateEndsThisMonth", Severity: info, EachNode: true,
			Condition:   `min by (name, instance) (conch_certificate_expiry_seconds) < 30 * 86400 and min by (name, instance) (conch_certificate_expiry_seconds) >= 7 * 86400`,
			Annotations: says(`the certificate {{ $labels.name }} of {{ $labels.instance }} ends within 30 days`, ""),
			comment:     `A certificate that a node shows or relies on is near its end: its name says which, see docs/operations.md#certificates. If certificates of yours live for less than these limits leave their names out: name!~"identity|peer:.*". Sessions and leaderships that stand do not end with one; new connections are refused.`,
			more:        "[nobody has renewed it](#certificates)",
		},
		{
			Name: "ConchCertificateEndsThisWeek", Severity: warning, EachNode: true,
			Condition:   `min by (name, instance) (conch_certificate_expiry_seconds) < 7 * 86400 and min by (name, instance) (conch_certificate_expiry_seconds) >= 86400`,
			Annotations: says(`the certificate {{ $labels.name }} of {{ $labels.instance }} ends within 7 days`, `The node's log says which file it is and what renews it; so does conch doctor --config.`),
			comment:     ``,
			more:        "[nobody has renewed it](#certificates)",
		},
		{
			Name: "ConchCertificateEnds", Severity: critical, EachNode: true,
			Condition:   `min by (name, instance) (conch_certificate_expiry_seconds) < 86400`,
			Annotations: says(`the certificate {{ $labels.name }} of {{ $labels.instance }} ends within a day, or has ended`, `The node's log says which file it is and what renews it; so does conch doctor --config.`),
			comment:     ``,
			more:        "[nobody has renewed it](#certificates)",
		},
	}
}
