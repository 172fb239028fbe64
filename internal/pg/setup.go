package pg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// minCheck is the shortest client_connection_check_interval: each check costs a system call.
const minCheck = 100 * time.Millisecond

// refusedSetting is the SQLSTATE of a value that a platform does not support.
const refusedSetting = "22023"

type answer struct {
	backend uint32
	version int
	standby bool
}

// setUp sends everything as one statement of the simple protocol, which needs no parse
// and no describe. Some platforms do not support the connection check; without it the
// server notices a client that died during a statement only when the statement ends.
func (s *Session) setUp(ctx context.Context, set Settings, backend uint32) (answer, error) {
	got, err := s.ask(ctx, setUpSQL(set, backend, true))
	if refused, is := errors.AsType[*pgconn.PgError](err); is && refused.Code == refusedSetting && strings.Contains(refused.Message, "client_connection_check_interval") {
		return s.ask(ctx, setUpSQL(set, backend, false))
	}
	return got, err
}

func (s *Session) ask(ctx context.Context, sql string) (answer, error) {
	results, err := s.conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return answer{}, err
	}
	row, err := onlyRow(results, 3)
	if err != nil {
		return answer{}, err
	}
	backend, err := strconv.ParseUint(string(row[0]), 10, 32)
	if err != nil {
		return answer{}, fmt.Errorf("reading pg_backend_pid(): %w", err)
	}
	version, err := strconv.Atoi(string(row[1]))
	if err != nil {
		return answer{}, fmt.Errorf("reading server_version_num: %w", err)
	}
	return answer{backend: uint32(backend), version: version, standby: string(row[2]) == "t"}, nil
}

func onlyRow(results []*pgconn.Result, columns int) ([][]byte, error) {
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) < columns {
		return nil, errors.New("the server gave no answer about itself")
	}
	return results[0].Rows[0], nil
}

// questionSQL is the part of setUpSQL that changes nothing.
const questionSQL = "SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_setting('server_version_num'), pg_catalog.pg_is_in_recovery()"

// setUpSQL contains only numbers and names from this package, so it needs no parameters. It
// runs before the search_path is set, so every name in it has its schema.
func setUpSQL(set Settings, backend uint32, check bool) string {
	var sql strings.Builder
	sql.WriteString(questionSQL)
	put := func(name, value string) { put(&sql, backend, name, value) }
	for _, one := range leaseSettings(set, check) {
		put(one.name, "'"+strconv.FormatInt(one.value, 10)+"'")
	}
	// A role or a database may have a transaction_timeout; servers before 17 do not know it.
	fmt.Fprintf(&sql, ", CASE WHEN pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) %d AND pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL "+
		"THEN pg_catalog.set_config('transaction_timeout', '0', false) END", backend)
	put("synchronous_commit", commitSQL)
	for _, one := range common {
		put(one[0], one[1])
	}
	// The session runs a few statements again and again, and their speed counts most when
	// a leader has died: plan each once, and not five times before a plan is kept.
	put("plan_cache_mode", "'force_generic_plan'")
	return sql.String()
}

// put adds a setting, of a value in SQL, that is made if it is the backend that answers.
func put(sql *strings.Builder, backend uint32, name, value string) {
	fmt.Fprintf(sql, ", CASE WHEN pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) %d THEN pg_catalog.set_config('%s', %s, false) END", backend, name, value)
}

type setting struct {
	name  string
	value int64
}

// leaseSettings returns milliseconds, and seconds for tcp_keepalives_*. Zero is the default.
func leaseSettings(set Settings, check bool) []setting {
	lease := atLeastOneMS(set.Lease)
	var alive, count, interval int64
	if lease > 0 {
		alive, count = 1, 3
		interval = max(set.Lease/3, minCheck).Milliseconds()
	}
	list := []setting{
		{"idle_session_timeout", lease},
		{"idle_in_transaction_session_timeout", lease},
		{"tcp_keepalives_idle", alive},
		{"tcp_keepalives_interval", alive},
		{"tcp_keepalives_count", count},
		{"tcp_user_timeout", lease},
		{"lock_timeout", atLeastOneMS(set.LockTimeout)},
		{"statement_timeout", atLeastOneMS(set.StatementTimeout)},
	}
	if check {
		list = append(list, setting{"client_connection_check_interval", interval})
	}
	return list
}

// atLeastOneMS keeps a tiny duration from becoming 0, which means "no limit".
func atLeastOneMS(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return max(d.Milliseconds(), 1)
}

// tooOld reads "15.4 (Debian 15.4-1)" or "14beta2". Otherwise server_version_num decides.
func tooOld(version string) bool {
	digits := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(version)
	}
	major, err := strconv.Atoi(version[:digits])
	return err == nil && major < MinMajor
}
