package minttest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// Cast is a database with the three roles of deploy/grants.sql. Roles belong to the whole
// server, so each database has its own.
type Cast struct {
	DB                    *pgtest.DB
	Node, Fence, Observer string
}

// Granted makes a database and its roles, which have the grants and may log in.
func Granted(t *testing.T) Cast {
	t.Helper()
	db := pgtest.New(t)
	c := Cast{DB: db, Node: db.Name + "_Node", Fence: db.Name + "_fence", Observer: db.Name + "_observer"}
	c.Script(t)
	admin := db.Connect(t)
	for _, role := range []string{c.Node, c.Fence, c.Observer} {
		Run(t, admin, fmt.Sprintf(`ALTER ROLE %q LOGIN`, role))
	}
	return c
}

// Script runs deploy/grants.sql with psql, as users do.
func (c Cast) Script(t *testing.T) {
	t.Helper()
	bin, err := postmaster.Binaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	psql := filepath.Join(bin, "psql")
	if _, err := os.Stat(psql); err != nil {
		if psql, err = exec.LookPath("psql"); err != nil {
			t.Skip("deploy/grants.sql is a script for psql, which is not beside the server's programs")
		}
	}
	cmd := exec.CommandContext(t.Context(), psql, "-X", "-q", c.DB.URL, "-v", "node="+c.Node, "-v", "fence="+c.Fence,
		"-v", "observer="+c.Observer, "-f", filepath.FromSlash("../../deploy/grants.sql"))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("deploy/grants.sql: %v\n%s", err, out)
	}
}

// As returns the URL of the database for a role.
func (c Cast) As(t *testing.T, role string) string {
	t.Helper()
	u, err := url.Parse(c.DB.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}
