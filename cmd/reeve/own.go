package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
)

// ownConfig is the configuration of what another program starts wherever it works:
// a coding agent its hook, a client an MCP server. That folder is a repository that
// somebody else may have written, and what runs in it may set variables, so neither
// has a say: settings are flags, or lie in the file that --config names, else in the
// user's own. Relative paths in it are its folder's.
//
// names are the settings that are flags. Those of the command itself, such as
// hook.unreachable of hook, are flags without its name.
func ownConfig(cmd *cobra.Command, command string, names ...string) (reeve.Config, error) {
	own, ownErr := os.UserConfigDir()
	file, _ := cmd.Flags().GetString("config")
	if file == "" && !cmd.Flags().Lookup("data").Changed { // what is installed names both
		file = userConfig()
	}
	given := map[string]string{}
	for _, name := range names {
		if f := cmd.Flags().Lookup(strings.TrimPrefix(name, command+"-")); f != nil && f.Changed {
			given[name] = f.Value.String()
		}
	}
	nobody := func(string) string { return "" }
	c, err := reeve.Load(file, nobody, given)
	if err != nil {
		return c, err
	}
	base := filepath.Dir(file)
	for name, path := range map[string]*string{"data": &c.Data, "policy": &c.Policy} {
		if *path == "" || filepath.IsAbs(*path) {
			continue
		}
		switch {
		case given[name] != "":
			if *path, err = filepath.Abs(*path); err != nil {
				return c, err
			}
		case file != "" && !(name == "data" && file == userConfig() && *path == noData):
			*path = filepath.Join(base, *path)
		case ownErr != nil:
			return c, fmt.Errorf("say where the data folder is, with --data: %w", ownErr)
		default:
			*path = filepath.Join(own, "reeve", "data")
		}
	}
	return c, nil
}

// ownFlags adds settings as flags to a command that reads its configuration so, and
// says in their help what is different.
func ownFlags(cmd *cobra.Command, names ...string) {
	settingFlags(cmd, names...)
	for name, usage := range map[string]string{
		"config": "configuration file (YAML); else reeve/reeve.yaml in your own configuration folder, if there",
		"data":   "Folder for the database, the node's key and its socket. (default reeve/data in your own configuration folder)",
	} {
		cmd.Flags().Lookup(name).Usage = usage
	}
}

// noData is the data folder where no setting names one.
const noData = "./reeve-data"

// userConfig is the user's own configuration file, empty if there is none.
func userConfig() string {
	own, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	if name := filepath.Join(own, "reeve", "reeve.yaml"); exists(name) {
		return name
	}
	return ""
}

// orOwn has a command look into the user's own data folder, where hooks and proxies
// leave their records, and so at the policy that they judge by, if nothing names another
// folder and there is none here.
func orOwn(c reeve.Config) reeve.Config {
	data := reeve.UserData()
	if data == "" || c.Database != "" || c.Data != noData || exists(c.Data) {
		return c
	}
	if exists(data) || exists(reeve.UserPolicy()) {
		c.Data = data
	}
	return c
}

// elsewhere says where else records may be, to those who found none: a command looks
// into the data folder here first, while hooks and proxies use the user's own.
func elsewhere(cmd *cobra.Command) string {
	c, err := config(cmd)
	if err != nil || c.Database != "" || cmd.Flags().Changed("data") {
		return ""
	}
	data := reeve.UserData()
	if data == "" || orOwn(c).Data == data || !exists(data) {
		return ""
	}
	return fmt.Sprintf(" (of %s; hooks and proxies keep theirs elsewhere: add --data %s)", c.Data, data)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
