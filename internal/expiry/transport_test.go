package expiry_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/expiry"
)

// A connection that is used again and again is made anew once the certificate has ended with which it was proven.
func TestAConnectionEndsWithItsCertificate(t *testing.T) {
	t.Parallel()
	var made, ahead atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			made.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	within, _ := server.Client().Transport.(*http.Transport)
	client := &http.Client{Transport: &expiry.Transport{Transport: within, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}}
	for _, c := range []struct {
		ahead time.Duration
		made  int64
	}{{0, 1}, {0, 1}, {100 * 365 * day, 2}, {0, 2}} {
		ahead.Store(int64(c.ahead))
		answer, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if got := made.Load(); got != c.made {
			t.Errorf("%v later %d connections were made, want %d", c.ahead, got, c.made)
		}
	}
}
