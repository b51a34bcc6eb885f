-- The timers of many hosts, for DuckDB: `docs/fleet.md` says how to collect them.
--
--     duckdb fleet.db < fleet.sql        in the folder above `fleet/host=NAME/mine.parquet`
--
-- `page` has a row for each host, with the figures of `tickwright describe`. Delays, lateness and
-- ages are [p50, p99] in ns.

-- query: damage
-- Figures of traces that lost events are too low: look at these hosts first.
SELECT regexp_extract(file_name, 'host=([^/]*)', 1) AS host,
       max(decode(value)) FILTER (decode(key) = 'tickwright.damage') AS damage,
       max(TRY_CAST(decode(value) AS UBIGINT))
           FILTER (decode(key) = 'tickwright.lost_events') AS lost
FROM parquet_kv_metadata('fleet/host=*/*.parquet')
GROUP BY ALL
HAVING damage IS NOT NULL OR lost > 0
ORDER BY host;

-- query: trace
-- Numbers of timers and events are unique within one trace. For several traces of a host, add a
-- level `trace=1` to the folders and replace `host` by `host, trace` below.
CREATE OR REPLACE VIEW trace AS
SELECT *, kind IN ('arm', 'rearm') AS is_arm
FROM read_parquet('fleet/host=*/*.parquet', hive_partitioning = true, hive_types_autocast = false);

-- The next deadline of a periodic timer that expired at `fired`. Some programs keep their grid,
-- others count from the expiry.
CREATE OR REPLACE MACRO next_due(due, fired, period) AS
    CASE WHEN abs(fired - due) <= period // 20 THEN due ELSE CAST(fired AS HUGEINT) END + period;

-- Rounds to two significant digits, as `describe` does for the commonest durations.
CREATE OR REPLACE MACRO power_of_ten(n) AS CAST(pow(10, n) AS HUGEINT);
CREATE OR REPLACE MACRO rounded(ns, unit) AS (ns + unit // 2) // unit * unit;
CREATE OR REPLACE MACRO two_digits(ns) AS
    CASE WHEN ns < 100 THEN ns ELSE rounded(ns, power_of_ten(length(CAST(ns AS VARCHAR)) - 2)) END;

-- query: page
-- A wait of a timer begins with an arm or a re-arm, and ends with the next expiry, cancel or
-- re-arm. A timer is pending during its waits.
--
--   trace -> numbered -> waits      the waits of each timer, by number
--                +-----> found      each event, with the wait that it meets
--                          +-> repeats     one-shot timers that are armed again and again
--                          +-> states      whether the timer was pending, and its due time
--                                +-> counts      operations, delays, lateness, cancels
--                                +-> population  pending timers, weighted by time
--                                +-> tops        the commonest delays
--
-- The state of the timer tells an arm from a re-arm, not the column `kind`. `unseen_arms` counts
-- ends of timers that were armed before the trace began, or whose arm was lost. `cancel_left` is
-- the percentage of the delay that was left. A periodic timer has a period, or was armed again three
-- times in a row with the same delay (to 1 %), at most a tenth of it after the deadline.
CREATE OR REPLACE TABLE page AS
WITH numbered AS (
    -- A deadline that the source does not tell, or that never comes, has no delay.
    SELECT *, CASE WHEN deadline_ns IS NOT NULL
                   THEN greatest(CAST(deadline_ns AS HUGEINT) - time_ns, 0) END AS delay,
           count(*) FILTER (is_arm) OVER earlier AS wait
    FROM trace
    WINDOW earlier AS (
        PARTITION BY host, timer ORDER BY event
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
), waits AS (
    SELECT host, timer, wait + 1 AS wait, time_ns AS armed_at, delay AS wait_delay,
           CAST(deadline_ns AS HUGEINT) AS wait_deadline, CAST(period_ns AS HUGEINT) AS wait_period
    FROM numbered
    WHERE is_arm
), found AS (
    -- What came before an event in the same wait.
    SELECT *, first_value(kind) OVER earlier AS ended_by,
           list(time_ns) FILTER (kind = 'fire' AND wait_period > 0) OVER earlier AS fired_at,
           count(*) FILTER (kind = 'cancel') OVER earlier AS cancelled
    FROM numbered LEFT JOIN waits USING (host, timer, wait)
    WINDOW earlier AS (
        PARTITION BY host, timer, wait ORDER BY event
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
), again AS (
    -- Armed again within a tenth of its delay after it expired, with the same delay: periodic.
    SELECT host, timer, wait + 1 AS wait,
           coalesce(wait_period = 0 AND ended_by = 'fire'
               AND abs(wait_delay - delay) <= greatest(wait_delay, delay) // 100
               AND abs(time_ns - wait_deadline) <= delay // 10, false) AS is_again
    FROM found
    WHERE is_arm
), runs AS (
    SELECT host, timer, wait,
           count(*) FILTER (NOT is_again) OVER (PARTITION BY host, timer ORDER BY wait) AS run
    FROM again
), repeats AS (
    SELECT host, timer, wait,
           row_number() OVER (PARTITION BY host, timer, run ORDER BY wait) - 1 AS repeated
    FROM runs
), states AS (
    SELECT *,
           coalesce(CASE WHEN wait_period > 0 THEN cancelled = 0 ELSE ended_by IS NULL END
               AND armed_at IS NOT NULL, false) AS was_pending,
           coalesce(list_reduce(fired_at,
               lambda due, fired: next_due(due, fired, wait_period), wait_deadline),
               wait_deadline) AS due,
           CASE WHEN wait_period > 0 THEN wait_period
                WHEN repeated >= 3 THEN wait_delay END AS every
    FROM found LEFT JOIN repeats USING (host, timer, wait)
), counts AS (
    SELECT host,
           count(*) AS events,
           count(*) FILTER (is_arm AND NOT was_pending) AS arms,
           count(*) FILTER (is_arm AND was_pending) AS rearms,
           count(*) FILTER (kind = 'cancel') AS cancels,
           count(*) FILTER (kind = 'fire') AS fires,
           count(*) FILTER (NOT is_arm AND NOT was_pending) AS unseen_arms,
           count(*) FILTER (kind = 'fire' AND was_pending AND every IS NOT NULL) AS periodic_fires,
           mode(every) FILTER (kind = 'fire' AND was_pending) AS commonest_period,
           quantile_disc(delay, [0.5, 0.99]) FILTER (is_arm) AS delay,
           max(delay) FILTER (is_arm) AS delay_max,
           min(delay) FILTER (is_arm) AS delay_min,
           quantile_disc(greatest(time_ns - due, 0), [0.5, 0.99])
               FILTER (kind = 'fire' AND was_pending) AS late,
           min(greatest(time_ns - due, 0)) FILTER (kind = 'fire' AND was_pending) AS late_min,
           max(greatest(time_ns - due, 0)) FILTER (kind = 'fire' AND was_pending) AS late_max,
           -- How long cancelled timers had waited, and the percentage of the delay that was left.
           quantile_disc(time_ns - armed_at, [0.5, 0.99])
               FILTER (kind = 'cancel' AND was_pending) AS cancel_age,
           min(time_ns - armed_at) FILTER (kind = 'cancel' AND was_pending) AS cancel_age_min,
           max(time_ns - armed_at) FILTER (kind = 'cancel' AND was_pending) AS cancel_age_max,
           quantile_disc(
               coalesce(least(greatest(due - time_ns, 0) * 100 // nullif(wait_delay, 0), 100), 0),
               [0.5, 0.99]) FILTER (kind = 'cancel' AND was_pending) AS cancel_left
    FROM states
    GROUP BY host
), steps AS (
    -- The clock never steps back. A periodic timer stays pending when it fires.
    SELECT host, event, max(time_ns) OVER so_far AS now,
           sum(CASE WHEN is_arm AND NOT was_pending THEN 1
                    WHEN is_arm OR NOT was_pending THEN 0
                    WHEN kind = 'cancel' OR wait_period = 0 THEN -1
                    ELSE 0 END) OVER so_far AS pending
    FROM states
    WINDOW so_far AS (PARTITION BY host ORDER BY event ROWS UNBOUNDED PRECEDING)
), held AS (
    SELECT host, pending, lead(now) OVER (PARTITION BY host ORDER BY event) - now AS ns
    FROM steps
), shares AS (
    SELECT host, pending, sum(ns) AS ns
    FROM held
    GROUP BY host, pending
), ranked AS (
    SELECT *, sum(ns) OVER (PARTITION BY host ORDER BY pending) AS up_to,
           sum(ns) OVER (PARTITION BY host) AS span_ns
    FROM shares
), ends AS (
    SELECT host, arg_max(pending, event) AS pending_at_end
    FROM steps
    GROUP BY host
), population AS (
    SELECT host, max(span_ns) AS span_ns,
           sum(pending * ns) / max(span_ns) AS population_mean,
           min(pending) FILTER (up_to >= CAST(0.5 AS DOUBLE) * span_ns) AS population_p50,
           min(pending) FILTER (up_to >= CAST(0.99 AS DOUBLE) * span_ns) AS population_p99,
           max(pending) AS population_max
    FROM ranked
    GROUP BY host
), commonest AS (
    SELECT host, two_digits(delay) AS ns, count(*) AS timers
    FROM numbered
    WHERE is_arm AND delay IS NOT NULL
    GROUP BY ALL
), tops AS (
    SELECT host, count(*) AS distinct_delays,
           list({'ns': ns, 'timers': timers} ORDER BY timers DESC, ns)[1:5] AS top_delays
    FROM commonest
    GROUP BY host
)
SELECT *, arms / (span_ns / 1e9) AS arms_per_second, rearms / (span_ns / 1e9) AS rearms_per_second,
       100.0 * cancels / (fires + cancels + rearms) AS cancel_percent
FROM counts JOIN population USING (host) JOIN ends USING (host) LEFT JOIN tops USING (host);

-- query: fleet
SELECT count(*) AS hosts, sum(events) AS events,
       quantile_disc(population_p50, 0.5) AS pending,
       max(population_max) AS most_pending,
       round(quantile_disc(arms_per_second, 0.5)) AS arms_a_second,
       round(100.0 * sum(cancels) / sum(fires + cancels + rearms), 1) AS cancel_percent,
       round(100.0 * sum(periodic_fires) / sum(fires), 1) AS periodic_percent
FROM page;

-- query: delays
-- The commonest delays of all hosts, and the number of hosts that use each.
SELECT top.ns / 1e6 AS ms, sum(top.timers) AS timers, count(*) AS hosts
FROM (SELECT unnest(top_delays) AS top FROM page)
GROUP BY ALL
ORDER BY timers DESC, ms
LIMIT 5;

-- query: late
-- The hosts whose timers fire latest.
SELECT host, round(late[1] / 1e3) AS late_p50_us, round(late[2] / 1e3) AS late_p99_us,
       population_p99 AS pending_p99, round(arms_per_second) AS arms_a_second,
       round(cancel_percent, 1) AS cancel_percent, round(cancel_age[1] / 1e6) AS cancel_age_ms
FROM page
ORDER BY late_p99_us DESC, host
LIMIT 5;
