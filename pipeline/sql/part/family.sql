-- Kind of telemetry of a rollup's row, whichever of a tag's signals it counts.
        multiIf(
            startsWith(r.source, 'csig_echo'), 'csig_echo',
            startsWith(r.source, 'csig'), 'csig',
            r.source
        ) AS family,
