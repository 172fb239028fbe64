package pgstore

import "context"

// Crowd is how many callers wait for a statement to begin.
func (s *Store) Crowd() int {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	return len(s.desk.waiting)
}

// Known is how many statements the server knows of the connection that is used next.
func (d *Database) Known(ctx context.Context) (n int, err error) {
	err = d.pool.QueryRow(ctx, `SELECT count(*) FROM pg_prepared_statements`).Scan(&n)
	return n, err
}

// NewID is how intents are named.
var NewID = newID
