package pgfence_test

import (
	"database/sql"
	"fmt"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
)

// DB stands for gorm.DB, so that this module does not depend on GORM.
type DB struct{ Error error }

func (db *DB) Transaction(f func(tx *DB) error, _ ...*sql.TxOptions) error { return f(db) }
func (db *DB) Create(any) *DB                                              { return db }
func (db *DB) Exec(string, ...any) *DB                                     { return db }

// With GORM, which begins and ends transactions itself: the fence is the last statement of
// the function. GORM's placeholder is a question mark, so the statement is not pgfence.SQL.
func Example_gorm() {
	type Payment struct{ Amount int }
	pay := func(db *DB, token fence.Token, payment *Payment) error {
		err := db.Transaction(func(tx *DB) error {
			if err := tx.Create(payment).Error; err != nil {
				return err
			}
			return tx.Exec("SELECT conch.fence(?, ?, ?)", token.Scope, token.Epoch, token.Term).Error
		})
		return pgfence.Stale(err)
	}
	fmt.Println(pay(&DB{}, fence.Token{Scope: "payments", Epoch: 7}, &Payment{Amount: 5}))
	// Output: <nil>
}
