use super::*;

fn broken(from: &str, to: &str) -> String {
    let (file, text) = BUILT_IN[0];
    assert!(text.contains(from), "{from}");
    let error = Scenario::parse(file, &text.replace(from, to)).unwrap_err();
    assert_eq!(error.code(), 2);
    error.to_string()
}

#[test]
fn the_built_in_files_are_valid_and_named_after_themselves() {
    for ((file, _), scenario) in BUILT_IN.iter().zip(Scenario::built_in().unwrap()) {
        assert_eq!(*file, format!("scenarios/{}.toml", scenario.name));
        assert!(!scenario.analysis.trim().is_empty());
        crate::structures::registry::select(&scenario.structures()).unwrap();
    }
}

#[test]
fn every_file_of_the_folder_is_built_in() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios");
    let texts = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()));
    // The other files belong to experiments.
    let ours = texts.filter(|text| text.as_ref().unwrap().contains("\nmeasures = "));
    assert_eq!(ours.count(), BUILT_IN.len());
}

#[test]
fn a_mistake_names_file_line_and_key() {
    let unknown = broken("rounds = 9", "runds = 9");
    assert!(unknown.contains("scenarios/hold-exp-sparse.toml"), "{unknown}");
    assert!(unknown.contains("line 18") && unknown.contains("runds"), "{unknown}");
    let range = broken("rounds = 9", "rounds = 0");
    assert!(
        range.contains("rounds = 0") && range.contains("0 is not a whole number from 1 to 1000"),
        "{range}"
    );
    let negative = broken("mean = 1_048_576", "mean = -1");
    assert!(negative.contains("-1 is not a whole number from 1"), "{negative}");
    let far = broken("mean = 1_048_576", "mean = 1_073_741_825");
    assert!(far.contains("is not a whole number from 1 to 1073741824"), "{far}");
    let shape = broken("\"exponential\"", "\"gaussian\"");
    assert!(shape.contains("gaussian") && shape.contains("uniform"), "{shape}");
    assert!(broken("measures = [\"hold\"]", "measures = []").contains("'measures' is empty"));
}

#[test]
fn a_pattern_that_names_nothing_is_a_mistake_in_its_line() {
    let message = broken("structures = [\"*\"]", "structures = [\"*\", \"!lits/*\"]");
    for word in ["scenarios/hold-exp-sparse.toml", "line 20", "'lits/*'", "'list/slab'"] {
        assert!(message.contains(word), "'{word}' is missing in: {message}");
    }
    let message = broken("structures = [\"*\"]", "structures = [\"!*\"]");
    assert!(message.contains("hold-exp-sparse.toml: 'run.structures': '!*' takes away every"), "{message}");
}

#[test]
fn a_model_has_its_own_tables_and_measures() {
    let missing = broken("operations = 50_000", "");
    assert!(missing.contains("'run.operations' is missing; model 'hold' needs it"), "{missing}");
    let other = broken("model = \"hold\"", "model = \"network\"");
    assert!(other.contains("'increments' has no meaning in model 'network'"), "{other}");
    let measure = broken("measures = [\"hold\"]", "measures = [\"peek\"]");
    assert!(measure.contains("'measures' of model 'hold' are of: hold, rearm, head"), "{measure}");
    let of = |name: &str, from: &str, to: &str| {
        let (file, text) = BUILT_IN.iter().find(|(file, _)| file.ends_with(name)).unwrap();
        assert!(text.contains(from), "{from}");
        Scenario::parse(file, &text.replace(from, to)).unwrap_err().to_string()
    };
    let half = of("expire.toml", "[\"insert\", \"expire\"]", "[\"expire\"]");
    assert!(half.contains("'measures' of model 'expire' are exactly: insert, expire"), "{half}");
    let order = of("network.toml", "longest = 60_000", "longest = 100");
    assert!(order.contains("'timeouts.longest' is below the shortest, 200"), "{order}");
    let order = of("one-shots-2k.toml", "longest = 2_000", "longest = 10");
    assert!(order.contains("'one_shots.longest' is below the shortest, 50"), "{order}");
    let both = of("request-timeout.toml", "longest = 200", "longest = 200\ncancelled_percent = 5");
    assert!(both.contains("needs either 'cancelled_percent' or 'completions'"), "{both}");
    let quartile = of("request-timeout.toml", "p75 = 60", "p75 = 6");
    assert!(quartile.contains("'one_shots.completions.p75' is below the median, 20"), "{quartile}");
    let whole = of("expire.toml", "rounds = 9", "operations_per_timer = 2\nrounds = 9");
    assert!(whole.contains("'run.operations_per_timer' has no meaning without"), "{whole}");
}

#[test]
fn a_sample_covers_every_timer_unless_the_user_says_how_long_it_is() {
    let network = Scenario::find("network").unwrap();
    let operations = [1_000, 100_000, 1_000_000].map(|n| network.operations(n));
    assert_eq!(operations, [200_000, 200_000, 2_000_000]);
    let expire = Scenario::find("expire").unwrap();
    assert_eq!(expire.operations(1_000), 1_000);
}

#[test]
fn an_unknown_name_gets_its_neighbours() {
    let message = Scenario::find("hold-exp-spares").unwrap_err().to_string();
    assert!(message.contains("'hold-exp-sparse'"), "{message}");
    assert!(Scenario::find("no/such/file.toml").unwrap_err().to_string().contains("cannot be read"));
}

#[test]
fn counts_are_read_with_their_units_and_refused_with_their_range() {
    let read = |text| Population::parse(text).map(Within::get);
    assert_eq!(
        [read("2"), read("10k"), read("1M"), read("1_000")],
        [Ok(2), Ok(10_000), Ok(1_000_000), Ok(1000)]
    );
    for text in ["0", "-1", "1e3", "", "k", "99999999999999999999", "18446744073709551615M"] {
        assert!(read(text).unwrap_err().contains("from 1 to 16777216"), "{text}");
    }
}
