//! Reads values from TOML. The parser is that of `toml`, and so is the text of an error. The step
//! from the parsed tree to a type is here, because it is compiled for each type: `toml` accepts
//! each kind of value wherever a type is read, and the files of the lab need only the kind that the
//! type asks for.

use core::fmt::Display;
use core::ops::Range;
use core::slice;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor, value::BorrowedStrDeserializer,
};
use serde::forward_to_deserialize_any;
use toml::de::{DeString, DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, map};

/// Reads a whole text.
///
/// # Errors
/// A mistake in the text, with its line.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, toml::de::Error> {
    let (table, span) = parse(text)?;
    T::deserialize(At { value: &DeValue::Table(table), span }).map_err(|wrong| wrong.in_text(text))
}

/// Reads the table with this key, and nothing else of the text.
///
/// # Errors
/// As [`read`]. The key is missing.
pub(crate) fn read_table<T: DeserializeOwned>(text: &str, key: &str) -> Result<T, toml::de::Error> {
    let (table, span) = parse(text)?;
    let value = match table.get(key) {
        Some(value) => T::deserialize(At::of(value)),
        None => Err(Wrong::custom(format_args!("missing field `{key}`")).at(&span)),
    };
    value.map_err(|wrong| wrong.in_text(text))
}

fn parse(text: &str) -> Result<(DeTable<'_>, Range<usize>), toml::de::Error> {
    let table = DeTable::parse(text)?;
    let span = table.span();
    Ok((table.into_inner(), span))
}

/// A mistake, and the part of the text that has it.
#[derive(Debug)]
struct Wrong {
    message: String,
    span: Option<Range<usize>>,
}

impl Wrong {
    /// The mistake is within this part, unless a smaller part is known.
    fn at(mut self, span: &Range<usize>) -> Self {
        self.span.get_or_insert_with(|| span.clone());
        self
    }

    /// The error that `toml` returns for this mistake. Its visitors alone can give an error a span.
    fn in_text(self, text: &str) -> toml::de::Error {
        let none = DeValue::String(String::new().into());
        let part = Spanned::new(self.span.clone().unwrap_or_default(), none);
        let mut error = match ValueDeserializer::from(part).deserialize_str(self) {
            Ok(never) => match never {},
            Err(error) => error,
        };
        error.set_input(Some(text));
        error
    }
}

impl Visitor<'_> for Wrong {
    type Value = core::convert::Infallible;

    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.message)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Err(E::custom(self.message))
    }
}

impl Display for Wrong {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Wrong {}

impl Error for Wrong {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), span: None }
    }
}

/// A value and its place in the text.
struct At<'d> {
    value: &'d DeValue<'d>,
    span: Range<usize>,
}

/// A value without parts.
enum Scalar<'d> {
    Text(&'d str),
    Signed(i64),
    Unsigned(u64),
    Number(f64),
    Bool(bool),
}

impl<'d> At<'d> {
    fn of(value: &'d Spanned<DeValue<'d>>) -> Self {
        Self { value: value.get_ref(), span: value.span() }
    }

    /// The value, if it has no parts.
    fn scalar(&self) -> Result<Option<Scalar<'d>>, Wrong> {
        let too_large = |what: &str| Wrong::custom(format_args!("{what} number overflowed")).at(&self.span);
        Ok(Some(match self.value {
            DeValue::String(text) => Scalar::Text(text),
            DeValue::Integer(number) => {
                let (digits, radix) = (number.as_str(), number.radix());
                let signed = i64::from_str_radix(digits, radix).map(Scalar::Signed);
                let number = signed.or_else(|_| u64::from_str_radix(digits, radix).map(Scalar::Unsigned));
                number.map_err(|_| too_large("integer"))?
            }
            DeValue::Float(number) => {
                let number = number.as_str();
                let value =
                    number.parse().ok().filter(|value: &f64| !value.is_infinite() || number.contains("inf"));
                Scalar::Number(value.ok_or_else(|| too_large("floating-point"))?)
            }
            DeValue::Boolean(value) => Scalar::Bool(*value),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => return Ok(None),
        }))
    }

    /// The value where a type expects another kind.
    fn unexpected(&self) -> Unexpected<'d> {
        match (self.scalar(), self.value) {
            (Ok(Some(Scalar::Text(text))), _) => Unexpected::Str(text),
            (Ok(Some(Scalar::Signed(value))), _) => Unexpected::Signed(value),
            (Ok(Some(Scalar::Unsigned(value))), _) => Unexpected::Unsigned(value),
            (Ok(Some(Scalar::Number(value))), _) => Unexpected::Float(value),
            (Ok(Some(Scalar::Bool(value))), _) => Unexpected::Bool(value),
            (_, DeValue::Array(_)) => Unexpected::Seq,
            _ => Unexpected::Map,
        }
    }

    fn refused(&self, why: &str) -> Wrong {
        Wrong::custom(why).at(&self.span)
    }

    fn wrong(&self, expected: &dyn serde::de::Expected) -> Wrong {
        Wrong::invalid_type(self.unexpected(), expected).at(&self.span)
    }
}

/// Reads a value without parts by the visitor's method for each kind.
macro_rules! scalars {
    ($($name:ident: $($kind:ident => $visit:ident),+;)+) => {
        $(fn $name<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Wrong> {
            match self.scalar()? {
                $(Some(Scalar::$kind(value)) => visitor.$visit(value),)+
                _ => Err(self.wrong(&visitor)),
            }
            .map_err(|wrong: Wrong| wrong.at(&self.span))
        })+
    };
}

impl<'d> Deserializer<'d> for At<'d> {
    type Error = Wrong;

    /// A type that takes any kind of value takes text, numbers and flags: none of the lab's types
    /// takes more.
    fn deserialize_any<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.scalar()? {
            Some(Scalar::Text(value)) => visitor.visit_borrowed_str(value),
            Some(Scalar::Signed(value)) => visitor.visit_i64(value),
            Some(Scalar::Unsigned(value)) => visitor.visit_u64(value),
            Some(Scalar::Number(value)) => visitor.visit_f64(value),
            Some(Scalar::Bool(value)) => visitor.visit_bool(value),
            None => Err(self.wrong(&visitor)),
        }
        .map_err(|wrong: Wrong| wrong.at(&self.span))
    }

    scalars! {
        deserialize_bool: Bool => visit_bool;
        deserialize_i64: Signed => visit_i64, Unsigned => visit_u64;
        deserialize_u32: Signed => visit_i64, Unsigned => visit_u64;
        deserialize_u64: Signed => visit_i64, Unsigned => visit_u64;
        deserialize_f64: Signed => visit_i64, Unsigned => visit_u64, Number => visit_f64;
        deserialize_str: Text => visit_borrowed_str;
        deserialize_string: Text => visit_borrowed_str;
        deserialize_identifier: Text => visit_borrowed_str;
    }

    fn deserialize_option<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'d>>(self, _: &str, visitor: V) -> Result<V::Value, Wrong> {
        let span = self.span.clone();
        visitor.visit_newtype_struct(self).map_err(|wrong| wrong.at(&span))
    }

    fn deserialize_seq<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            DeValue::Array(all) => visitor.visit_seq(Items(all.iter())),
            _ => Err(self.wrong(&visitor)),
        }
        .map_err(|wrong| wrong.at(&self.span))
    }

    fn deserialize_tuple<V: Visitor<'d>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            DeValue::Table(all) => visitor.visit_map(Entries { rest: all.iter(), value: None }),
            _ => Err(self.wrong(&visitor)),
        }
        .map_err(|wrong| wrong.at(&self.span))
    }

    fn deserialize_struct<V: Visitor<'d>>(self, _: &str, _: &[&str], visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_map(visitor)
    }

    /// The name of a variant, or a table with the name as its only key.
    fn deserialize_enum<V: Visitor<'d>>(self, _: &str, _: &[&str], visitor: V) -> Result<V::Value, Wrong> {
        let variant = match self.value {
            DeValue::String(name) => Variant { name, span: self.span.clone(), content: None },
            DeValue::Table(table) => match (table.iter().next(), table.len()) {
                (Some((name, value)), 1) => {
                    Variant { name: name.get_ref(), span: name.span(), content: Some(At::of(value)) }
                }
                (None, _) => {
                    return Err(self.refused("wanted exactly 1 element, found 0 elements"));
                }
                _ => return Err(self.refused("wanted exactly 1 element, more than 1 element")),
            },
            _ => return Err(self.refused("wanted string or table")),
        };
        visitor.visit_enum(variant).map_err(|wrong| wrong.at(&self.span))
    }

    fn deserialize_ignored_any<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        <V: Visitor<'d>>
        i8 i16 i32 i128 u8 u16 u128 f32 char bytes byte_buf unit unit_struct tuple_struct
    }
}

/// The items of an array.
struct Items<'d>(slice::Iter<'d, Spanned<DeValue<'d>>>);

impl<'d> SeqAccess<'d> for Items<'d> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'d>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some(item) = self.0.next() else { return Ok(None) };
        seed.deserialize(At::of(item)).map(Some).map_err(|wrong| wrong.at(&item.span()))
    }
}

/// The keys and values of a table.
struct Entries<'d> {
    rest: map::Iter<'d, Spanned<DeString<'d>>, Spanned<DeValue<'d>>>,
    /// The value of the last key.
    value: Option<&'d Spanned<DeValue<'d>>>,
}

impl<'d> MapAccess<'d> for Entries<'d> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'d>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some(value);
        let key_of = BorrowedStrDeserializer::<Wrong>::new(key.get_ref());
        seed.deserialize(key_of).map(Some).map_err(|wrong| wrong.at(&key.span()))
    }

    fn next_value_seed<V: DeserializeSeed<'d>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let value = self.value.take().ok_or_else(|| Wrong::custom("a value comes after its key"))?;
        seed.deserialize(At::of(value)).map_err(|wrong| wrong.at(&value.span()))
    }
}

/// A variant: its name, and the place of the name.
struct Variant<'d> {
    name: &'d str,
    span: Range<usize>,
    content: Option<At<'d>>,
}

impl<'d> EnumAccess<'d> for Variant<'d> {
    type Error = Wrong;
    type Variant = Content<'d>;

    fn variant_seed<V: DeserializeSeed<'d>>(self, seed: V) -> Result<(V::Value, Content<'d>), Wrong> {
        let variant = seed.deserialize(BorrowedStrDeserializer::<Wrong>::new(self.name));
        Ok((variant.map_err(|wrong| wrong.at(&self.span))?, Content(self.content)))
    }
}

/// The content of a variant.
struct Content<'d>(Option<At<'d>>);

impl<'d> Content<'d> {
    fn some(self, expected: &dyn serde::de::Expected) -> Result<At<'d>, Wrong> {
        self.0.ok_or_else(|| Wrong::invalid_type(Unexpected::UnitVariant, expected))
    }
}

impl<'d> VariantAccess<'d> for Content<'d> {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        self.0.map_or(Ok(()), |content| Err(content.wrong(&"unit variant")))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'d>>(self, seed: T) -> Result<T::Value, Wrong> {
        seed.deserialize(self.some(&"newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'d>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        self.some(&"tuple variant")?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'d>>(self, _: &[&str], visitor: V) -> Result<V::Value, Wrong> {
        self.some(&"struct variant")?.deserialize_map(visitor)
    }
}

#[cfg(test)]
mod tests;
