package pg_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgpool"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// serve answers each connection with one function, until the test ends.
func serve(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(t.Context(), func() { _ = conn.Close() })
			go answer(conn)
		}
	}()
	return listener.Addr().String()
}

func saysNothing(net.Conn) {}

// hangsInTLS accepts TLS and says no more.
func hangsInTLS(conn net.Conn) { _, _ = conn.Write([]byte{'S'}) }

// refuses sends an error for the startup message.
func refuses(code, message string) func(net.Conn) {
	return greets(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: message})
}

// greets sends messages for the startup message, and then nothing.
func greets(messages ...pgproto3.BackendMessage) func(net.Conn) {
	return func(conn net.Conn) {
		client := pgproto3.NewBackend(conn, conn)
		for {
			first, err := client.ReceiveStartupMessage()
			if err != nil {
				return
			}
			if _, tls := first.(*pgproto3.SSLRequest); !tls {
				break
			}
			_, _ = conn.Write([]byte{'N'})
		}
		for _, message := range messages {
			client.Send(message)
			if fatal, is := message.(*pgproto3.ErrorResponse); is && fatal.Severity == "FATAL" {
				defer func() { _ = conn.Close() }()
			}
		}
		_ = client.Flush()
	}
}

// welcomes lets everybody in, as a pooler whose server is gone, and answers queries with the rest.
func welcomes(answers ...pgproto3.BackendMessage) func(net.Conn) {
	return greets(append([]pgproto3.BackendMessage{
		&pgproto3.AuthenticationOk{}, &pgproto3.ParameterStatus{Name: "server_version", Value: "16.1"},
		&pgproto3.ParameterStatus{Name: "in_hot_standby", Value: "on"},
		&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte("fake")}, &pgproto3.ReadyForQuery{TxStatus: 'I'},
	}, answers...)...)
}

// isAStandby answers the first query with "on".
var isAStandby = welcomes(
	&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("x"), DataTypeOID: 25, DataTypeSize: -1}}},
	&pgproto3.DataRow{Values: [][]byte{[]byte("on")}}, &pgproto3.CommandComplete{CommandTag: []byte("SHOW")},
	&pgproto3.ReadyForQuery{TxStatus: 'I'})

// several returns a URL of several hosts.
func several(db *pgtest.DB, query string, hosts ...string) pg.Config {
	return pg.Config{URL: "postgres://conch:" + secret + "@" + strings.Join(hosts, ",") + "/" + db.Name + "?sslmode=prefer" + query}
}

const readWrite = "&target_session_attrs=read-write"

const whole = 5 * time.Second // what an elector gives the opening of its session

// troubles are addresses that are no use, and what is said of them.
var troubles = map[string]struct {
	answer func(net.Conn)
	said   string
}{
	"silent":                        {saysNothing, "did not answer within"},
	"a TLS handshake that hangs":    {hangsInTLS, "did not answer within"},
	"a pooler without its server":   {welcomes(), "did not answer within"},
	"starting up":                   {refuses("57P03", "the database system is starting up"), "is starting up"},
	"a wrong password":              {refuses("28P01", "password authentication failed"), "the password for user"},
	"a standby":                     {isAStandby, ": is a standby"},
	"closes at once":                {func(conn net.Conn) { _ = conn.Close() }, "is it running?"},
	"a pooler that knows nobody":    {refuses("08P01", "no such user: conch"), "no such user"},
	"a full server":                 {refuses("53300", "sorry, too many clients already"), "no connection left"},
	"no such database":              {refuses("3D000", "database does not exist"), "no database"},
	"a program that is no database": {func(conn net.Conn) { _, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, "is it PostgreSQL?"},
}

// What is wrong with one address is never in the way of another.
func TestALivingAddressIsFoundBehindTrouble(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for what, trouble := range troubles {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			good, _ := db.Proxy(t)
			bad := serve(t, trouble.answer)
			for _, query := range []string{readWrite, "&target_session_attrs=primary", ""} {
				if query != readWrite && what == "a standby" {
					continue // it answers this question alone
				}
				ctx, cancel := context.WithTimeout(t.Context(), whole)
				defer cancel()
				s, err := pg.Open(ctx, several(db, query, bad, bad, good.Addr()), pg.Settings{Lease: time.Second})
				if err != nil {
					t.Fatalf("%s: %v", query, err)
				}
				if !strings.Contains(s.Target(), good.Addr()) {
					t.Errorf("the target is %s, want %s", s.Target(), good.Addr())
				}
				closeNow(s)
			}
		})
	}
}

// What an address has said is not forgotten since the time was over while it was tried once more.
func TestASecondTryThatIsCutShort(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	var tries atomic.Int32
	starts := serve(t, func(conn net.Conn) {
		if tries.Add(1) <= 2 { // with TLS, and without
			refuses("57P03", "the database system is starting up")(conn)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := pg.Open(ctx, several(db, readWrite, starts, serve(t, saysNothing)), pg.Settings{})
	says(t, err, starts+": is starting up")
}

// If no address is any use, the error names each with its outcome, within the time of the caller.
func TestEachAddressIsNamedWithItsOutcome(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	var hosts, words []string
	for _, trouble := range troubles {
		at := serve(t, trouble.answer)
		hosts, words = append(hosts, at), append(words, at+": ", trouble.said)
	}
	hosts, words = append(hosts, "127.0.0.1:1"), append(words, "127.0.0.1:1: nothing listens at this address")
	ctx, cancel := context.WithTimeout(t.Context(), whole)
	defer cancel()
	_, err := pg.Open(ctx, several(db, readWrite, hosts...), pg.Settings{})
	says(t, err, words...)
	if ctx.Err() != nil {
		t.Error("nothing was left of the caller's time")
	}
	if !pg.SafeToRetry(err) {
		t.Error("SafeToRetry is false although nothing was done")
	}
}

// While one address is silent, one that was just starting up is asked again.
func TestAnAddressThatComesBackIsNotMissed(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	good, _ := db.Proxy(t)
	good.Refuse()
	silent := serve(t, func(net.Conn) { good.Heal() })
	ctx, cancel := context.WithTimeout(t.Context(), whole)
	defer cancel()
	s, err := pg.Open(ctx, several(db, readWrite, good.Addr(), silent), pg.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	closeNow(s)
}

func TestTheURLLimitsHowLongAnAddressMayBeSilent(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	silent, closes := serve(t, saysNothing), serve(t, troubles["closes at once"].answer)
	pgtest.Within(t, patience, "a search without another limit ends", func() {
		_, err := pg.Connect(t.Context(), several(db, "&connect_timeout=1", silent, serve(t, saysNothing), serve(t, saysNothing), closes))
		says(t, err, silent+": did not answer within 1", closes+": the connection to this address is gone")
	})
}

// A primary waits a moment for a standby that is preferred, and not until a silent one has had all its time.
func TestCancellingEndsTheSearch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan struct{}, 2)
	silent := serve(t, func(net.Conn) { began <- struct{}{} })
	go func() { <-began; cancel() }()
	pgtest.Within(t, patience, "the search ends", func() {
		if _, err := pg.Connect(ctx, pg.Config{URL: "postgres://u@" + silent + "," + silent + "/d"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}

// The last good address comes first, so that a silent one costs its delay once; and when it falls
// silent itself, the other is found.
func TestTheLastGoodAddressIsTriedFirst(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	first, _ := db.Proxy(t)
	second, _ := db.Proxy(t)
	cfg := several(db, readWrite, first.Addr(), second.Addr())
	to := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), whole)
		defer cancel()
		s, err := pg.Open(ctx, cfg, pg.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		defer closeNow(s)
		_, at, _ := strings.Cut(s.Target(), " on ")
		at, _, _ = strings.Cut(at, " as ")
		return at
	}
	for _, silent := range []*tcpproxy.Proxy{first, second, first} {
		silent.Blackhole(tcpproxy.Both)
		living := first
		if silent == first {
			living = second
		}
		if at := to(); at != living.Addr() {
			t.Fatalf("connected to %s, want %s", at, living.Addr())
		}
		silent.Heal()
		if at := to(); at != living.Addr() {
			t.Errorf("went back to %s although %s is good", at, living.Addr())
		}
	}
}

// A connection that came too late is closed: the server counts one.
func TestAddressesThatLoseAreClosed(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	slow, _ := db.Proxy(t)
	slow.Delay(300 * time.Millisecond)
	quick, _ := db.Proxy(t)
	conn, err := pg.Connect(t.Context(), several(db, readWrite, slow.Addr(), quick.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	pgtest.Eventually(t, patience, "one connection is left", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = $1", db.Name).Scan(&n)
		return err == nil && n == 1
	})
}

// Each address of a name counts, and so does a name that nobody looks up.
func TestEachAddressOfANameIsTried(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	good, _ := db.Proxy(t)
	silent := serve(t, saysNothing)
	lookup := func(ctx context.Context, name string) ([]string, error) {
		switch name {
		case "both.example":
			return []string{silent, good.Addr()}, nil
		case "unheard.example":
			<-ctx.Done()
			return nil, &net.DNSError{Err: "i/o timeout", Name: name, IsTimeout: true}
		case "one.example":
			return []string{good.Addr()}, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	for _, hosts := range []string{"both.example", "unheard.example,one.example", "nobody.example,one.example"} {
		ctx, cancel := context.WithTimeout(t.Context(), whole)
		defer cancel()
		conn, err := pg.Racing(ctx, several(db, readWrite, hosts), lookup)
		if err != nil {
			t.Errorf("%s: %v", hosts, err)
			continue
		}
		_ = conn.Close(ctx)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := pg.Racing(ctx, several(db, readWrite, "unheard.example", "nobody.example"), lookup)
	says(t, err, `the name "unheard.example" was not looked up`, `there is no host "nobody.example"`)
}

// any and prefer-standby take the first that answers.
func TestEveryTargetSessionAttrsKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	good, _ := db.Proxy(t)
	standby := serve(t, welcomes())
	for attrs, want := range map[string]string{
		"any": "", "read-write": "", "primary": "", "prefer-standby": "",
		"standby": "is the primary", "read-only": "takes writes",
	} {
		t.Run(attrs, func(t *testing.T) {
			t.Parallel()
			conn, err := pg.Connect(t.Context(), several(db, "&connect_timeout=5&target_session_attrs="+attrs, standby, good.Addr()))
			if err == nil {
				_ = conn.Close(t.Context())
			}
			if want == "" && err != nil || want != "" && !strings.Contains(pg.Sentence(err), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// The connections of a pool avoid a silent address as others do.
func TestPoolsFindTheLivingAddress(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	good, _ := db.Proxy(t)
	ctx, cancel := context.WithTimeout(t.Context(), whole)
	defer cancel()
	pools, err := pgpool.Open(ctx, several(db, readWrite, serve(t, saysNothing), good.Addr()), 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer pools.Close()
	for _, pool := range []interface{ Ping(context.Context) error }{pools.Writers, pools.Readers} {
		if err := pool.Ping(ctx); err != nil {
			t.Error(err)
		}
	}
}

func TestListenFindsTheLivingAddress(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	good, _ := db.Proxy(t)
	ctx, cancel := context.WithTimeout(t.Context(), whole)
	defer cancel()
	up := false
	_ = pg.Listen(ctx, several(db, readWrite, serve(t, saysNothing), good.Addr()), []string{"c"}, pg.ListenFuncs{Up: func() { up = true; cancel() }})
	if !up {
		t.Error("the listener found no address")
	}
}

func TestAddressesSaysWhatComesOfEach(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	good, _ := db.Proxy(t)
	silent, standby := serve(t, saysNothing), serve(t, isAStandby)
	found, bad, err := pg.Addresses(t.Context(), several(db, readWrite+"&connect_timeout=1", silent, standby, good.Addr()))
	well := []string{standby + ": is a standby", good.Addr() + ": answers"}
	if err != nil || !bad || len(found) != 3 || !strings.HasPrefix(found[0], silent+": did not answer within") || !slices.Equal(found[1:], well) {
		t.Errorf("got %q, bad: %v, and %v", found, bad, err)
	}
	if found, bad, err = pg.Addresses(t.Context(), several(db, readWrite, standby, good.Addr())); err != nil || bad || !slices.Equal(found, well) {
		t.Errorf("without the silent one: got %q, bad: %v, and %v", found, bad, err)
	}
}
