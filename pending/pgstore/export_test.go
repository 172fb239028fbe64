package pgstore

// Crowd is how many callers wait for a statement to begin.
func (s *Store) Crowd() int {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	return len(s.desk.waiting)
}
