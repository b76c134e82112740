-- The hottest hops come first, of equals the lesser ids, so that pages of any size follow one another.
    GROUP BY node, port
    ORDER BY max(u_max_n) DESC, node, port
    LIMIT {rows:UInt32} OFFSET {skip:UInt32}
