package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/operator"
)

func ledgerIndex() *cobra.Command {
	return jsonFlag(aboutNode(&cobra.Command{
		Use:   "index",
		Short: "Make anew what finds decisions, from the ledger itself",
		Long: `Drops the index beside the ledger and makes it anew from the records and their facts, while the
node goes on. Until it is done, questions read record by record. It is needed when reeve ledger
verify says that the index does not fit; nothing else is lost with it.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var made operator.Indexed
			if err := askNode(cmd, "POST", "/admin/index", operator.Nothing{}, &made); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), made)
			}
			for _, log := range made.Logs {
				fmt.Fprintf(cmd.OutOrStdout(), "log %d: %d of %d records are found by the index, the newest %d by reading them\n", log.Log, log.Covered, log.Records, log.Records-log.Covered)
			}
			return nil
		},
	}))
}
