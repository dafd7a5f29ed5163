# fish completion for halcyon(1).  Subcommands and options are those of its own --help, devices and values those it lists.

function __halcyon_words
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l halcyon $words[1]
    set -l subcommand $words[2..2]
    set -l previous $words[-1]
    if test (count $words) -lt 2
        $halcyon --help 2>/dev/null | sed -n 's/^  \([a-z][a-z0-9-]*\) .*/\1/p' | sort -u
        printf '%s\n' --help --version
        return
    end
    # "bench nufft" is one subcommand of two words.
    set -l second ($halcyon --help 2>/dev/null | sed -n "s/^  $subcommand \([a-z][a-z0-9-]*\) .*/\1/p")
    if test (count $words) -ge 3; and contains -- $words[3] $second
        set subcommand $subcommand $words[3]
    else if test (count $words) -eq 2
        printf '%s\n' $second
    end
    switch $previous
        case -d --device --devices
            # A list: its last name.
            set -l kept (string match -r '^.*,' -- $current)
            for device in ($halcyon devices --json 2>/dev/null | sed -n 's/^ *"device": *"\([^"]*\)".*/\1/p') auto all gpu fpga
                echo "$kept$device"
            end
            return
        case -u --unit --split --error-model --as --terminal --method --solver --precision --sum --stack --part --mri --layout --codec --dtype \
                --encoding --overflow
            # What is refused names what there is.
            $halcyon $subcommand x $previous '?' 2>&1 | sed -n 's/.* it takes one of \(.*\); see .*/\1/p' | string split ', '
            return
    end
    switch $current
        case '-*'
            $halcyon $subcommand --help-all 2>/dev/null |
                sed -n 's/^  \(-.\), \(--[a-z0-9-]*\).*/\1\n\2/p; s/^      \(--[a-z0-9-]*\).*/\1/p'
        case '*'
            __fish_complete_path $current
    end
end

complete -c halcyon -f -a '(__halcyon_words)'
