package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// The JSON of the verbs below token. Scripts read it: add fields, but do not change any.

type createdToken struct {
	Version int    `json:"version"`
	Secret  string `json:"secret"`
	operator.Token
}

type listedTokens struct {
	Version int              `json:"version"`
	Tokens  []operator.Token `json:"tokens"`
}

// tokenLife is the default for --valid-for.
const tokenLife = 90 * 24 * time.Hour

// tokenCommand has the verbs about tokens.
func tokenCommand(term *terminal) *cobra.Command {
	c := &cobra.Command{
		Use: "token", Short: "Manage tokens: create, list, revoke",
		Long: "A token lets a person or program on another machine use the servers of this cluster, at the\n" +
			"address in listen of [admin]. Its role limits it: a viewer sees jobs, servers and runs; an\n" +
			"operator also triggers, pauses, disables and ends jobs; a publisher sees the same as a viewer,\n" +
			"brings modules and sets those of jobs; an admin may do everything.",
	}
	return operatorNoun(term, c, tokenCreate, tokenList, tokenRevoke)
}

func tokenCreate(o *operatorVerb) *cobra.Command {
	var role string
	var life time.Duration
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a token, and print it once", Args: cobra.ExactArgs(1),
		Long: "The token goes to standard output, alone on its line, and cannot be shown again: the registry has\n" +
			"only a hash of it. All servers accept it at once. Its name shows in the audit who did something,\n" +
			"so give each person and program a token of their own.",
		Example: "  (umask 077; wasmjobd token create ci --role publisher >ci.token)",
	}
	c.Flags().StringVar(&role, "role", string(operator.RoleViewer), "viewer, operator, publisher or admin")
	c.Flags().DurationVar(&life, "valid-for", tokenLife, "it expires after this `duration`; 0: never")
	c.RunE = func(c *cobra.Command, args []string) error {
		return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
			secret, t, err := op.CreateToken(ctx, args[0], operator.Role(role), life)
			if err != nil {
				return err
			}
			if o.term.json() {
				return o.term.printJSON(createdToken{Version: 1, Secret: secret, Token: t})
			}
			o.term.printf("%s\n", secret)
			o.term.note("token %s has the role %s, %s; it is not shown again", t.Name, t.Role, lifeOf(t))
			return nil
		})
	}
	return c
}

// lifeOf returns how long a token is valid, in words.
func lifeOf(t operator.Token) string {
	if t.Until.IsZero() {
		return "valid forever"
	}
	return "valid until " + stamp(t.Until.UnixMilli(), time.UTC)
}

func tokenList(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tokens of the cluster, without their secrets", Args: cobra.NoArgs,
		Long: "For each token: its role, when it was created and by whom, and when it expires. An expired token\n" +
			"is shown for a day.",
		RunE: func(c *cobra.Command, _ []string) error {
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				all, err := op.Tokens(ctx)
				switch {
				case err != nil:
					return err
				case o.term.json():
					return o.term.printJSON(listedTokens{Version: 1, Tokens: append([]operator.Token{}, all...)})
				case len(all) == 0:
					o.term.note("this cluster has no token")
				}
				w := table(o.term, "TOKEN\tROLE\tCREATED\tBY\tEXPIRES")
				for _, t := range all {
					expires := "never"
					if !t.Until.IsZero() {
						expires = stamp(t.Until.UnixMilli(), time.UTC)
					}
					if t.Expired {
						expires += ", has expired"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", plain(t.Name), plain(string(t.Role)), stamp(t.Created.UnixMilli(), time.UTC), plain(t.By), expires)
				}
				return flush(w)
			})
		},
	}
}

func tokenRevoke(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "Revoke a token; a second later no server accepts it", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				if err := op.RevokeToken(ctx, args[0]); err != nil {
					return err
				}
				return o.term.answer(map[string]any{"version": 1, "revoked": args[0]}, "%s: revoked\n", plain(args[0]))
			})
		},
	}
}
