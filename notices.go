package reeve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/notice"
	"reeve.example/reeve/internal/secret"
)

// teller returns what tells people that acts wait for them; nil where nobody is to be
// told. What is set and cannot be used now is said in the log: an agent's work does not
// stop for it.
func (n *Node) teller() *notice.Teller {
	targets, errs := n.cfg.noticeTargets()
	for _, err := range errs {
		n.logger.Warn("people are not told that acts wait for them", "error", err)
	}
	if len(targets) == 0 {
		return nil
	}
	c := &n.cfg.Approvals.Notify
	return notice.New(notice.Config{
		Guard: n.guard, Targets: targets, Node: n.log.Node(), Contents: c.Contents, URL: c.URL, Now: n.now, Logger: n.logger,
	})
}

// beside is what becomes durable with an act that is held: that people are to be told.
func (n *Node) beside(ctx context.Context, h *approval.Decision) (*guard.Item, error) {
	if n.notices == nil {
		return nil, nil
	}
	item, err := n.notices.Beside(ctx, h)
	if _, damaged := errors.AsType[*guard.DamagedError](err); damaged {
		return nil, nil // the log says so, and the act is held all the same
	}
	return item, err
}

// noticeTargets are where people are told, and why elsewhere they are not.
func (c *Config) noticeTargets() (targets []notice.Target, errs []error) {
	set := &c.Approvals.Notify
	add := func(key string, target notice.Target, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("approvals.notify.%s: %w", key, err))
			return
		}
		targets = append(targets, target)
	}
	if set.Desktop {
		target, err := notice.Desktop()
		add("desktop", target, err)
	}
	for i, hook := range set.Webhooks {
		key, err := referred(set.Secret)
		form, to := webhook(hook)
		if err == nil && reference(to) {
			to, err = referred(to)
		}
		var target notice.Target
		if err == nil {
			target, err = notice.Webhook(fmt.Sprintf("webhook %d", i+1), form, to, []byte(key))
		}
		add("webhooks", target, err)
	}
	if set.SMTP != "" {
		password, err := referred(set.Password)
		var target notice.Target
		if err == nil {
			target, err = notice.Email(set.mail(password))
		}
		add("smtp", target, err)
	}
	return targets, errs
}

// webhook is a setting of a webhook in its parts.
func webhook(text string) (form, to string) {
	for _, form := range []string{notice.Plain, notice.Slack, notice.Teams} {
		if to, ok := strings.CutPrefix(text, form+"="); ok {
			return form, to
		}
	}
	return notice.Plain, text
}

func reference(text string) bool {
	return strings.HasPrefix(text, "env:") || strings.HasPrefix(text, "file:")
}

// referred reads a secret; empty where none is named.
func referred(ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	text, err := secret.Read(ref)
	return strings.TrimSpace(string(text)), err
}

func (s *notifySettings) mail(password string) notice.Mail {
	return notice.Mail{Server: s.SMTP, User: s.User, Password: password, From: s.From, To: s.To}
}

// check refuses what can be seen to be wrong without reading a secret.
func (s *notifySettings) check() (errs []error) {
	for _, hook := range s.Webhooks {
		if form, to := webhook(hook); !reference(to) {
			if _, err := notice.Webhook("", form, to, nil); err != nil {
				errs = append(errs, fmt.Errorf("approvals.notify.webhooks: %w", err))
			}
		}
	}
	if s.SMTP != "" {
		if _, err := notice.Email(s.mail("")); err != nil {
			errs = append(errs, fmt.Errorf("approvals.notify.smtp: %w", err))
		}
	}
	if s.SMTP == "" && (s.From != "" || len(s.To) > 0 || s.User != "" || s.Password != "") {
		errs = append(errs, errors.New("approvals.notify: e-mails need approvals.notify.smtp"))
	}
	return errs
}

// flushTime is how long a process that ends, or decides one act, tries to tell people.
const flushTime = 3 * time.Second

// flushNotices tells what is still to be told, once: a hook's process ends before any
// retry, and the next process goes on.
func (n *Node) flushNotices() {
	if n.notices == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	n.notices.Flush(ctx)
}
