package postgres

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"reeve.example/reeve/internal/ledger"

	"github.com/jackc/pgx/v5"
)

// The pauses between tries to listen again.
const (
	listenPause    = 50 * time.Millisecond
	listenMaxPause = 2 * time.Second
	// listenCheck is how often a silent connection is looked at.
	listenCheck = 10 * time.Second
)

// changeChannel is where the database's triggers tell what was changed.
const changeChannel = "reeve_change"

// Watch tells what is changed in the database, until ctx ends. See store.Store.
func (s *Store) Watch(ctx context.Context, logger *slog.Logger, changed func(ledger.Change)) {
	s.listen(ctx, logger, changeChannel, func() { changed(ledger.Change{}) }, func(payload string) {
		kind, id, _ := strings.Cut(payload, " ")
		changed(ledger.Change{Kind: ledger.ChangeKind(kind), ID: id})
	})
}

// listen tells what is notified on a channel of the schema, until ctx ends, by a
// connection of its own. missed is called whenever something may have been missed: at
// the beginning, and each time that the connection was lost.
func (s *Store) listen(ctx context.Context, logger *slog.Logger, channel string, missed func(), told func(payload string)) {
	for pause := listenPause; ctx.Err() == nil; pause = min(2*pause, listenMaxPause) {
		begin := time.Now()
		err := s.listenOnce(ctx, channel, missed, told)
		if ctx.Err() != nil {
			return
		}
		logger.Warn("what other nodes change was not heard for a moment", "error", err)
		// What cut this connection mostly cut the others too: each would fail one call.
		s.pool.Reset()
		if time.Since(begin) > listenMaxPause {
			pause = listenPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (s *Store) listenOnce(ctx context.Context, channel string, missed func(), told func(payload string)) error {
	c, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), beat)
		defer cancel()
		_ = c.Close(end)
	}()
	var schema string
	if err := c.QueryRow(ctx, `SELECT coalesce(current_schema(), '')`).Scan(&schema); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, `LISTEN `+pgx.Identifier{schema + "." + channel}.Sanitize()); err != nil {
		return err
	}
	missed()
	for {
		wait, cancel := context.WithTimeout(ctx, listenCheck)
		n, err := c.WaitForNotification(wait)
		silent := wait.Err() != nil
		cancel()
		switch {
		case err == nil:
			told(n.Payload)
		case ctx.Err() != nil:
			return ctx.Err()
		case !silent || c.IsClosed():
			return err
		default:
			check, cancel := context.WithTimeout(ctx, beat)
			err := c.Ping(check)
			cancel()
			if err != nil {
				return err
			}
		}
	}
}
